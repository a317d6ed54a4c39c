// Variations in a browser: priced whole, started as one set, found together.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { fill, inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-variations-'))
afterAll(() => rmSync(folder, { recursive: true }))
const browser = useBrowser()
const model = 'test/card/text-to-image'
const catalog = join(folder, 'card.yaml')
writeFileSync(
  catalog,
  JSON.stringify({
    models: [
      {
        id: model,
        name: 'Card',
        description: 'A card.',
        category: 'text-to-image',
        modality: 'image',
        owned_by: 'test',
        created: '2026-11-01',
        price: { credits: 'theme == "dusk" ? 2 : 1' },
        engine: { kind: 'null', picture: true },
        input: {
          type: 'object',
          required: ['title'],
          properties: {
            title: { type: 'string' },
            theme: { enum: ['dusk', 'noon', 'dawn'], default: 'noon' },
            seed: { type: 'integer', minimum: 0 },
          },
        },
      },
    ],
  }),
)

inBrowser('variations are priced whole before the press, and started, shown and compared as one set', async () => {
  await using app = await startTestApp({ MEDIAGEN_CATALOG: catalog })
  await app.generate(model, { title: 'Alone' })
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}&/model/${model}`)
  await fill(page, '.field[data-name=title] .input', 'Fair')
  await page.evaluate(
    `[...document.querySelectorAll('.generate-row button')].find((one) => one.textContent === 'Variations').click()`,
  )
  // Four seeds and the theme of the form.
  await page.until(`${textOf('.variations .primary')} === 'Make 4 for 4 credits'`)
  await page.evaluate(`document.querySelector('.variations input[name=vary-theme]').click()`)
  await page.until(`${textOf('.variations .primary')} === 'Make 8 for 12 credits'`)
  await press(page, '.variations .primary')
  await page.until(`!document.querySelector('.variations')`)
  const { body } = await app.send('/v1/jobs')
  expect(body.data.pop().input).toEqual({ title: 'Alone' })
  const inputs = body.data.map((job: { input: { theme?: string; seed: number } }) => job.input)
  expect(
    new Set(inputs.map(({ theme = 'noon', seed }: { theme?: string; seed: number }) => `${theme} ${seed}`)).size,
  ).toBe(8)
  const sets = new Set(body.data.map((job: { labels: Record<string, string> }) => job.labels['variations']))
  expect(sets.size).toBe(1)

  await page.evaluate(`location.hash = '#/library'`)
  await page.until(`${textOf('.set-line')} === '8 variations Compare'`)
  expect(await page.evaluate(`[...document.querySelectorAll('.set-line')].at(-1).textContent`)).toBe('Others')
  expect(
    await page.evaluate(`[...document.querySelectorAll('.set-line')].at(-1).nextElementSibling.textContent`),
  ).toContain('Alone')
  await press(page, '.set-line a')
  await page.until(`document.querySelectorAll('.compared .tile[data-status=succeeded]').length === 8`)
  expect(await page.evaluate(textOf('.compared .difference'))).toMatch(/^(Theme (dusk|noon) · )?Seed \d+/)
  await press(page, '.compared .tile')
  await page.until(`${textOf('.full [role=status]')}?.startsWith('1 of 8')`)
  await page.press('ArrowRight')
  await page.until(`${textOf('.full [role=status]')}?.startsWith('2 of 8')`)
})

inBrowser('what the account cannot pay is said before the press', async () => {
  await using app = await startTestApp({ MEDIAGEN_CATALOG: catalog })
  const { key } = await app.createAccount(3)
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${key}&/model/${model}`)
  await fill(page, '.field[data-name=title] .input', 'Fair')
  await page.evaluate(
    `[...document.querySelectorAll('.generate-row button')].find((one) => one.textContent === 'Variations').click()`,
  )
  await page.until(`${textOf('.variations [role=status]')} === 'They cost 4 credits, and you have 3.'`)
  expect(await page.evaluate(`document.querySelector('.variations .primary').disabled`)).toBe(true)
})
