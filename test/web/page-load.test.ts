// How much the console loads: the bounds of docs/decisions/console-bundle.md in a browser.
import { afterAll, beforeAll, expect } from 'vitest'
import { startTestApp, type TestApp, withBuiltin } from '../test-app.ts'
import type { BrowserPage } from './browser-page.ts'
import { inBrowser, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
let app: TestApp

beforeAll(async () => {
  app = await startTestApp({}, withBuiltin)
})

afterAll(() => app[Symbol.asyncDispose]())

interface SentRequest {
  readonly url: string
  readonly bytes: number
}

const products = `document.querySelectorAll('.product').length > 5 && document.querySelectorAll('.chips label').length > 5`
const entries = `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]`

/** Waits until the catalog can be used, and all that it asks for has come. */
async function awaitCatalog(page: BrowserPage): Promise<void> {
  await page.until(products)
  for (const last of ['/v1/wallet', '/v1/jobs?'])
    await page.until(`${entries}.some(({ name }) => name.includes('${last}'))`)
}

/** What a page has sent for, pictures included. */
function readRequests(page: BrowserPage): Promise<readonly SentRequest[]> {
  return page.evaluate(
    `${entries}.filter(({ transferSize }) => transferSize > 0).map(({ name, transferSize }) => ({ url: name.replace(location.origin, ''), bytes: transferSize }))`,
  )
}

/** Scrolls through a page; every picture on it is seen. */
async function seePictures(page: BrowserPage): Promise<void> {
  await page.evaluate('scrollTo(0, document.body.scrollHeight)')
  await page.until(`[...document.images].every(({ naturalWidth }) => naturalWidth > 0)`)
}

const sum = (requests: readonly SentRequest[]): number => requests.reduce((total, { bytes }) => total + bytes, 0)

inBrowser('a first visit takes at most ten requests and 120 kB; a reload only asks what may have changed', async () => {
  await using page = await browser.openPage()
  await page.resize(1440)
  await page.open(`${app.url}/#key=${app.account.key}`)
  await awaitCatalog(page)
  await seePictures(page)
  expect(await page.evaluate('document.images.length')).toBeGreaterThan(8)
  const cold = await readRequests(page)
  expect(cold.length, JSON.stringify(cold)).toBeLessThanOrEqual(10)
  expect(sum(cold), JSON.stringify(cold)).toBeLessThanOrEqual(120_000)

  await page.reload()
  await awaitCatalog(page)
  await seePictures(page)
  expect((await readRequests(page)).filter(({ url }) => url.startsWith('/console/'))).toEqual([])
  expect(page.errors).toEqual([])
})

inBrowser('a model page and the page of a job take as little', async () => {
  const model = 'builtin/image/art/text-to-image'
  const { body: job } = await app.generate(model, { prompt: 'aurora', width: 256, height: 256 }, { wait: true })
  await using page = await browser.openPage()
  await page.send('Network.enable')
  await page.open(`${app.url}/#key=${app.account.key}`)
  for (const place of [`model/${model}`, `job/${job.job_id}`]) {
    await page.open('about:blank')
    await page.send('Network.clearBrowserCache')
    await page.open(`${app.url}/#/${place}`)
    // What can be made of the picture is asked for last.
    await page.until(
      `document.querySelectorAll('.job .actions .button').length > 2 && document.querySelector('.wallet strong').textContent !== '–'`,
    )
    // But what the job made: it is as large as was asked for.
    const loaded = (await readRequests(page)).filter(({ url }) => !url.startsWith('/assets/'))
    expect(loaded.length, JSON.stringify(loaded)).toBeLessThanOrEqual(10)
    expect(sum(loaded), JSON.stringify(loaded)).toBeLessThanOrEqual(120_000)
  }
})
