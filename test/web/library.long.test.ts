// The library in a browser: filters, the same place on Back, what others start, and many files at once.
import { expect } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'
import type { BrowserPage } from './browser-page.ts'
import { fill, inBrowser, press, textOf, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
const instant = 'test/instant/text-to-image'
const failing = 'test/failing/text-to-image'

const titles = `[...document.querySelectorAll('.tile b')].map(({ textContent }) => textContent)`
const shows = (...texts: string[]): string => `${titles}.join() === ${JSON.stringify(texts.join())}`

async function openLibrary(app: TestApp): Promise<BrowserPage> {
  const page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}&/library`)
  await page.until(`document.querySelector('.tiles:not([aria-busy])')`)
  return page
}

inBrowser('jobs of any tab are found by state, model, words and date', async () => {
  await using app = await startTestApp()
  const gate = app.gate()
  for (const prompt of ['a red fox in snow', 'a blue fox', 'the sea']) await app.generate(instant, { prompt })
  await app.generate(failing, { prompt: 'a green fox' })
  await app.generate('test/gate/text-to-image', gate.input, { wait: false })
  await gate.begun()
  await using page = await openLibrary(app)
  expect(await page.evaluate(`document.querySelectorAll('.tile').length`)).toBe(5)
  await fill(page, '.library-fields [type=search]', 'FOX snow')
  await page.until(shows('a red fox in snow'))
  await fill(page, '.library-fields [type=search]', 'fox')
  await page.until(shows('a green fox', 'a blue fox', 'a red fox in snow'))
  await page.evaluate(
    `{ const model = document.querySelector('.library-fields select'); model.value = '${instant}'; model.dispatchEvent(new Event('change')) }`,
  )
  await page.until(shows('a blue fox', 'a red fox in snow'))
  await press(page, '#status-4')
  await page.until(`${textOf('.empty')}?.startsWith('No generations match.')`)
  await press(page, '#status-0')
  await page.until(shows('a blue fox', 'a red fox in snow'))
  const day = (date: string) =>
    page.evaluate(
      `{ const since = document.querySelector('[placeholder=YYYY-MM-DD]'); since.value = '${date}'; since.dispatchEvent(new Event('change')) }`,
    )
  await day('2099-01-01')
  await page.until(`document.querySelector('.empty')`)
  await day('2020-01-01')
  await page.until(shows('a blue fox', 'a red fox in snow'))
  expect(await page.evaluate(textOf('.library-bar [role=status]'))).toBe('2 generations')
  expect(page.errors).toEqual([])
  gate.open()
})

inBrowser('Back leads to the same place, and what others start appears by itself', async () => {
  await using app = await startTestApp()
  const prompts = Array.from({ length: 30 }, (_, index) => `fox ${index}`)
  for (const prompt of prompts) await app.generate(instant, { prompt })
  await using page = await openLibrary(app)
  await page.resize(390)
  await press(page, '#status-1')
  await page.until(`document.querySelectorAll('.tile').length === 24`)
  await press(page, '.more-row button')
  await page.until(`document.querySelectorAll('.tile').length === 30`)
  const lastTop = `document.querySelector('.tile-cell:last-child .tile').getBoundingClientRect().top`
  await page.evaluate(`document.querySelector('.tile-cell:last-child .tile').scrollIntoView({ block: 'center' })`)
  const top = await page.evaluate<number>(lastTop)
  await press(page, '.tile-cell:last-child .tile')
  await page.until(`${textOf('.job-page h1')} === 'fox 0'`)
  await page.evaluate('history.back()')
  await page.until(`document.querySelectorAll('.tile').length === 30 && Math.abs(${lastTop} - ${top}) < 3`)
  expect(await page.evaluate(`document.querySelector('#status-1').checked`)).toBe(true)

  await app.generate(instant, { prompt: 'from elsewhere' })
  await page.until(`${textOf('.tile b')} === 'from elsewhere'`)
  expect(await page.evaluate(`document.querySelectorAll('.tile').length`)).toBe(31)
})

inBrowser('settings of a job that another client started are used again', async () => {
  await using app = await startTestApp()
  const { body: job } = await app.generate(instant, { prompt: 'a red fox', width: 128 })
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}&/job/${job.job_id}`)
  await page.until(`document.querySelector('.result img')?.alt === 'a red fox'`)
  await press(page, '.job .actions a')
  await page.until(`document.querySelector('textarea')?.value === 'a red fox'`)
  expect(await page.evaluate(`document.querySelector('.field[data-name=width] .number').value`)).toBe('128')
})

inBrowser('files of several jobs are downloaded as one archive', async () => {
  await using app = await startTestApp()
  for (const prompt of ['one', 'two', 'three']) await app.generate(instant, { prompt })
  await app.generate(failing, { prompt: 'x' })
  await using page = await openLibrary(app)
  await press(page, '.selection .button:last-of-type')
  // Choosing does not leave the page.
  await press(page, '.tile-cell:nth-child(2) .tile')
  await press(page, '.tile-cell:nth-child(3) .tile')
  await press(page, '.tile-cell:nth-child(1) .tile')
  expect(await page.evaluate('location.hash')).toBe('#/library')
  const download = `[...document.querySelectorAll('.selection .button')].find((one) => one.textContent.startsWith('Download'))`
  expect(await page.evaluate(`${download}.textContent`)).toBe('Download 2 files')
  await page.evaluate(`{
    window.saved = Promise.withResolvers()
    // The policy of the page lets it offer a file, but not read it again.
    const create = URL.createObjectURL
    URL.createObjectURL = (file) => (window.archive = file, create(file))
    HTMLAnchorElement.prototype.click = function () {
      archive.arrayBuffer().then((bytes) => saved.resolve([this.download, new Uint8Array(bytes).toHex()]))
    };
    ${download}.dispatchEvent(new MouseEvent('click'))
  }`)
  const [name, hex] = await page.evaluate<[string, string]>('saved.promise')
  const zip = Buffer.from(hex, 'hex')
  expect(name).toMatch(/^mediagen-\d{4}-\d\d-\d\d\.zip$/)
  expect([zip.readUInt32LE(0), zip.readUInt16LE(zip.length - 12)]).toEqual([0x04034b50, 2])
  expect(zip.includes('PNG')).toBe(true)
  expect(page.errors).toEqual([])
})
