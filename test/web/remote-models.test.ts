// Models of other servers in the console: how their price comes about, who made what, and why one is not ready (P82).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { createSecrets } from '../../src/engines/secrets.ts'
import { serveFake } from '../engines/remote/fakes/fake.ts'
import { createFakeReplicate } from '../engines/remote/fakes/replicate.ts'
import { startTestApp } from '../test-app.ts'
import { fill, inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
const folder = mkdtempSync(join(tmpdir(), 'mediagen-console-'))
afterAll(() => rmSync(folder, { recursive: true }))
const token = 'sk-very-secret-0123456789'

const input = {
  type: 'object',
  additionalProperties: false,
  required: ['prompt'],
  properties: {
    prompt: { type: 'string', title: 'Prompt', minLength: 1 },
    num_outputs: { type: 'integer', title: 'Number of pictures', minimum: 1, maximum: 4, default: 1 },
  },
}

function toModel(name: string, price: object): object {
  return {
    id: `acme/${name}`,
    name,
    description: 'A picture.',
    category: 'text-to-image',
    modality: 'image',
    owned_by: 'acme',
    created: '2026-01-01',
    price,
    engine: { kind: 'replicate', provider: name, model: 'acme/picture' },
    input,
  }
}

function writeCatalog(origin: string): string {
  const file = join(folder, 'models.yaml')
  const provider = { kind: 'replicate', base_url: `${origin}/v1`, token_env: 'KEY' }
  const providers = { rented: provider, keyless: { ...provider, token_env: 'LOST_KEY' } }
  const price = { at_most: 'num_outputs * 5', actual: 'ceil(usage.images * 3)' }
  writeFileSync(
    file,
    JSON.stringify({ providers, models: [toModel('rented', price), toModel('keyless', { credits: 2 })] }),
  )
  return file
}

inBrowser('the price of a remote model is explained, and its job names the provider that made it', async () => {
  const fake = createFakeReplicate({ nowMs: Date.now, token })
  await using served = await serveFake(fake)
  await using app = await startTestApp(
    { MEDIAGEN_CATALOG: writeCatalog(served.origin) },
    { secrets: createSecrets({ KEY: token }) },
  )
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}&/model/acme/rented`)
  await page.until(`document.querySelector('.price-table')`)
  await press(page, '.price-table summary')
  const rows = `[...document.querySelectorAll('.price-table tr')].map((row) => [...row.cells].map((cell) => cell.textContent).join(': '))`
  expect(await page.evaluate(rows)).toEqual([
    'Number of pictures 1: 5 credits',
    '… with number of pictures 2: 10 credits',
    '1 image: 3 credits',
    '2 images: 6 credits',
    '4 images: 12 credits',
  ])
  await fill(page, 'textarea, .field[data-name=prompt] .input', 'a boat')
  await page.until(`${textOf('.large')} === 'Generate for up to 5 credits'`)
  await press(page, '.large')
  await page.until(`${textOf('.job-status')} === 'Done3 credits charged, 2 returned'`)
  const facts = `[...document.querySelectorAll('.facts > div')].map((fact) => fact.innerText.replace(/\\s+/g, ' '))`
  expect(await page.evaluate(facts)).toContain('Made by rented')
  expect(page.errors).toEqual([])
})

inBrowser('a model that is not ready says why, and is asked again', async () => {
  await using served = await serveFake(createFakeReplicate({ nowMs: Date.now, token }))
  const secrets: Record<string, string> = { KEY: token }
  const clock = { aheadMs: 0, nowMs: () => Date.now() + clock.aheadMs }
  await using app = await startTestApp(
    { MEDIAGEN_CATALOG: writeCatalog(served.origin) },
    { secrets: createSecrets(secrets), clock },
  )
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}&/model/acme/keyless`)
  const said = textOf('.readiness .notice p')
  expect(await page.until(said)).toBe(
    '“keyless” is not ready: a key that it needs is missing: the server has no environment variable LOST_KEY. Nothing was held. Whoever runs this server can change that; try again later.',
  )
  // Nor does a whole input say anything else, or the same thing twice.
  await fill(page, '.field[data-name=prompt] .input', 'a boat')
  await page.until(`${textOf('.generate-bar > .fine')}.startsWith('“keyless” is not ready: a key that it needs')`)
  expect(await page.evaluate(textOf('.large'))).toBe('Not ready')
  expect(await page.evaluate(`document.querySelectorAll('.notice').length`)).toBe(1)

  secrets['LOST_KEY'] = token
  await expect
    .poll(async () => {
      clock.aheadMs += 60_000
      await page.evaluate(`document.querySelector('.readiness .button')?.click()`)
      return page.evaluate(`document.querySelector('.readiness').childElementCount`)
    })
    .toBe(0)
})
