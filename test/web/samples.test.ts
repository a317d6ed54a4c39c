// Samples in the console: on cards, on pages of models, and the sounds and words of options.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { toField } from '../../web/form-model.ts'
import { paintEntry } from '../catalog/paint-entry.ts'
import { startTestApp, type TestApp, withBuiltin } from '../test-app.ts'
import { fill, inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
let app: TestApp

beforeAll(async () => {
  app = await startTestApp({}, withBuiltin)
})

afterAll(() => app[Symbol.asyncDispose]())

const card = (name: string): string =>
  `[...document.querySelectorAll('.product')].find((card) => card.querySelector('h2').textContent === '${name}')`
const names = "[...document.querySelectorAll('.product h2')].map((name) => name.textContent)"

inBrowser('a card shows a sample, whose words are its alternative text and whose place is kept', async () => {
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}`)
  const picture = `${card('Poster')}.querySelector('.cover img')`
  await page.until(`${picture}?.naturalWidth === 300`)
  expect(
    await page.evaluate(`['alt', 'width', 'height', 'loading'].map((name) => ${picture}.getAttribute(name))`),
  ).toEqual(['The Night Market', '1080', '1080', 'lazy'])
  expect(await page.evaluate(`${card('Poster')}.querySelector('.product-words > p').textContent`)).toMatch(
    /^Sets your words .*never cut off\.$/,
  )
  await fill(page, '[type=search]', 'black white')
  await page.until(`${names}.length === 1`)
  expect(await page.evaluate(names)).toEqual(['Image Edit'])
  await page.until(`${card('Image Edit')}.querySelector('.cover img')?.alt.includes('Summer sale')`)
  await fill(page, '[type=search]', 'lip sync')
  expect(await page.until(textOf('.empty'))).toBe('No model matches “lip sync”. Clear the search')
  expect(page.errors).toEqual([])
})

inBrowser(
  'pictures of another catalog come with the page if they are small, else when they are scrolled to',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mediagen-cards-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const names = Array.from({ length: 24 }, (_, index) => (index % 2 === 0 ? `small-${index}` : `large-${index}`))
    const models = await Promise.all(
      names.map(async (name, index) => {
        const side = name.startsWith('small') ? 16 : 200
        // Each has a content of its own; noise is large.
        const noise = { type: 'gaussian', mean: 128, sigma: 30 + index } as const
        const create = { width: side, height: side, channels: 3, background: '#fff', noise } as const
        await sharp({ create })
          .png()
          .toFile(join(folder, `${name}.png`))
        return { ...paintEntry, id: `acme/${name}`, name, samples: [{ file: `${name}.png`, input: { prompt: 'x' } }] }
      }),
    )
    writeFileSync(join(folder, 'models.yaml'), JSON.stringify({ models }))
    await using other = await startTestApp({ MEDIAGEN_CATALOG: join(folder, 'models.yaml') })
    await using page = await browser.openPage()
    await page.resize(390)
    await page.open(`${other.url}/#key=${other.account.key}`)
    const picture = (name: string): string => `${card(name)}.querySelector('.cover img')`
    await page.until(`${picture('small-0')}?.naturalWidth === 16 && ${picture('large-1')}?.naturalWidth === 200`)
    const asked = `performance.getEntriesByType('resource').filter(({ name }) => name.includes('/samples/')).length`
    expect(await page.evaluate(`${picture('small-22')}.src`)).toMatch(/^data:image\/png/)
    expect(await page.evaluate(`${picture('large-23')}.naturalWidth`)).toBe(0)
    expect(await page.evaluate(asked)).toBeLessThan(12)
    await page.evaluate(`${picture('large-23')}.scrollIntoView()`)
    await page.until(`${picture('large-23')}.naturalWidth === 200`)
    expect(page.errors).toEqual([])
  },
)

inBrowser('where the small pictures do not come together, each comes by itself', async () => {
  await using page = await browser.openPage()
  await page.send('Network.enable')
  await page.send('Network.setBlockedURLs', { urls: ['*/console/covers.*'] })
  await page.open(`${app.url}/#key=${app.account.key}`)
  await page.until(`${card('Poster')}?.querySelector('.cover img')?.naturalWidth === 300`)
  expect(await page.evaluate(`${card('Poster')}.querySelector('.cover img').src`)).toContain('/samples/')
})

inBrowser('where the small pictures are cut off on the way, each comes by itself', async () => {
  await using page = await browser.openPage()
  await page.send('Page.addScriptToEvaluateOnNewDocument', {
    source: `const { json } = Response.prototype
      Response.prototype.json = function () {
        return this.url.includes('/console/covers.') ? Promise.reject(new TypeError('cut off')) : json.call(this)
      }`,
  })
  await page.open(`${app.url}/#key=${app.account.key}`)
  await page.until(`${card('Poster')}?.querySelector('.cover img')?.naturalWidth === 300`)
  expect(page.errors).toEqual([])
})

inBrowser(
  'settings of a sample fill the form, a voice is heard and explained, and the fine print is folded',
  async () => {
    await using page = await browser.openPage()
    await page.open(`${app.url}/#key=${app.account.key}&/model/builtin/audio/speech/text-to-speech`)
    await page.until("document.querySelectorAll('.sample-list .sample').length === 2")
    expect(await page.evaluate(textOf('.about > p'))).toMatch(/^Reads English text .* machine\.$/)
    expect(await page.evaluate("document.querySelector('.about details').open")).toBe(false)
    expect(await page.evaluate(textOf('.about details p'))).toMatch(/^Use it for voice-overs/)

    const voice = `document.querySelector('[data-name=voice]')`
    const chosen = `${voice}.querySelector('input:checked + * .chip').textContent`
    const said = `${voice}.querySelector('.option-words').textContent`
    expect(await page.evaluate(`[${chosen}, ${said}]`)).toEqual(['Sarah', 'A woman, American.'])
    await page.evaluate(`${voice}.querySelectorAll('.chip')[7].click()`)
    expect(await page.evaluate(`[${chosen}, ${said}]`)).toEqual(['Ewan', 'A man, Scottish; deeper.'])

    const button = (words: string): string => `${voice}.querySelector('[aria-label="${words}"]')`
    // As a person's click, without which a browser plays nothing.
    const click = (words: string) =>
      page.send('Runtime.evaluate', { expression: `${button(words)}.click()`, userGesture: true })
    await click('Hear Clara')
    await page.until(button('Stop Clara'))
    await click('Hear Kal')
    expect(await page.evaluate(`[${button('Stop Kal')}, ${button('Stop Clara')}].map(Boolean)`)).toEqual([true, false])
    // It ends by itself, and hearing is not choosing.
    await page.until(button('Hear Kal'))
    expect(await page.evaluate(chosen)).toBe('Ewan')

    await press(page, '.sample-list .sample:nth-child(2) > .button')
    expect(await page.evaluate(`[${chosen}, document.querySelector('textarea').value]`)).toEqual([
      'Angus',
      'The kettle is on. Would you like a cup of tea?',
    ])
    await page.until("document.querySelector('.generate-bar').textContent.includes('1 credit')")
    expect(page.errors).toEqual([])
  },
)

inBrowser('a sample with pictures as its input can be made again as it is', async () => {
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}&/model/builtin/image/art/edit`)
  await page.until("document.querySelectorAll('.sample-list .sample').length === 2")
  await press(page, '.sample-list .sample:nth-child(2) > .button')
  await page.until("document.querySelector('.slot-picture img')?.naturalWidth === 640")
  await page.until(`${textOf('.large')}.startsWith('Generate for')`)
  await press(page, '.generate-bar button')
  await page.until("document.querySelector('.result img')?.naturalWidth === 360")
  expect(await page.evaluate("document.querySelector('.samples').open")).toBe(false)
  expect(page.errors).toEqual([])
})

test.each([
  [
    { enum: ['a', 'b'] },
    [
      ['a', '', null],
      ['b', '', null],
    ],
    'chips',
  ],
  [
    {
      enum: ['a', 'b'],
      'x-enum-titles': { a: 'Ann' },
      'x-enum-descriptions': { b: 'A man.' },
      'x-enum-samples': { a: '/samples/1.mp3' },
    },
    [
      ['Ann', '', '/samples/1.mp3'],
      ['b', 'A man.', null],
    ],
    'chips',
  ],
  [
    { oneOf: [{ const: 1, title: 'One', description: 'Alone.' }, { const: 2 }] },
    [
      ['One', 'Alone.', null],
      ['2', '', null],
    ],
    'chips',
  ],
  [{ enum: ['a'], 'x-enum-titles': 'wrong', 'x-enum-descriptions': { a: 5 } }, [['a', '', null]], 'chips'],
  [
    { enum: ['a', 'b'], 'x-enum-titles': { a: 'A title that is long' } },
    [
      ['A title that is long', '', null],
      ['b', '', null],
    ],
    'list',
  ],
])('the words of options: %j', (schema, words, layout) => {
  const expected = words.map(([title, details, sound]) => ({ title, details, sound }))
  expect(toField('voice', schema as never, true, {})).toMatchObject({ kind: 'choice', words: expected, layout })
})
