// How much the console loads, and how soon it can be used: the bounds of docs/decisions/console-bundle.md in a browser.
import { expect } from 'vitest'
import { startTestApp, withBuiltin } from '../test-app.ts'
import type { BrowserPage } from './browser-page.ts'
import { inBrowser, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
// So long that what a busy machine takes itself does not pass for a round trip.
const roundTripMs = 800
const usableMs = 500
// Other tests run meanwhile: the best attempt shows what the page can do.
const attempts = 40

interface SentRequest {
  readonly url: string
  readonly bytes: number
}

const products = `document.querySelectorAll('.product').length > 5 && document.querySelectorAll('.chips label').length > 5`
const entries = `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]`

/** Waits until the catalog can be used; returns when it could, in milliseconds since the page was asked for. */
async function awaitCatalog(page: BrowserPage): Promise<number> {
  const usableMs = await page.until<number>(`${products} && performance.now()`)
  for (const last of ['/v1/wallet', '/v1/jobs?'])
    await page.until(`${entries}.some(({ name }) => name.includes('${last}'))`)
  return usableMs
}

/** Reloads a page until it can be used within `boundMs`; returns how long the fastest reload took, in milliseconds. */
async function bestOfReloads(
  page: BrowserPage,
  boundMs: number,
  prepare: () => Promise<unknown> = () => Promise.resolve(),
): Promise<number> {
  let bestMs = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < attempts && bestMs >= boundMs; attempt += 1) {
    await prepare()
    await page.reload()
    bestMs = Math.min(bestMs, await awaitCatalog(page))
  }
  return bestMs
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
  await using app = await startTestApp({}, withBuiltin)
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
  await using app = await startTestApp({}, withBuiltin)
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

inBrowser('it can be used within half a second here, and a reload takes two round trips more', async () => {
  await using app = await startTestApp({}, withBuiltin)
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}`)
  await awaitCatalog(page)
  await page.send('Network.enable')

  const cold = await bestOfReloads(page, usableMs, () => page.send('Network.clearBrowserCache'))
  const noLimit = { offline: false, downloadThroughput: -1, uploadThroughput: -1 }
  await page.send('Network.emulateNetworkConditions', { ...noLimit, latency: roundTripMs })
  const mostMs = 2 * roundTripMs + usableMs
  const warm = await bestOfReloads(page, mostMs)
  // The delay is there: the page, then what it shows.
  expect(warm).toBeGreaterThan(2 * roundTripMs)
  expect(warm).toBeLessThan(mostMs)
  expect(cold).toBeLessThan(usableMs)
})
