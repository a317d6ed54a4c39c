// How much the console loads, and how soon it can be used: the bounds of docs/decisions/console-bundle.md in a browser.
import { expect } from 'vitest'
import { startTestApp, withBuiltin } from '../test-app.ts'
import type { BrowserPage } from './browser-page.ts'
import { inBrowser, useBrowser } from './browser-tests.ts'

const browser = useBrowser()
const roundTripMs = 200
// Other tests run meanwhile: the best of these shows what the page can do.
const attempts = 5

/** What was loaded since the page began, without the pictures of models and jobs. */
interface Load {
  /** When what a person came for was there, in milliseconds since the page was asked for. */
  readonly usableMs: number
  readonly requests: readonly { readonly url: string; readonly bytes: number }[]
}

const products = `document.querySelectorAll('.product').length > 5 && document.querySelectorAll('.chips label').length > 5`

/** Waits until the page can be used. */
async function readLoad(page: BrowserPage): Promise<Load> {
  const usableMs = await page.until<number>(`${products} && performance.now()`)
  const entries = `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]`
  for (const last of ['/v1/wallet', '/v1/jobs?'])
    await page.until(`${entries}.some(({ name }) => name.includes('${last}'))`)
  return {
    usableMs,
    requests: await page.evaluate(
      `${entries}.filter(({ name }) => !name.includes('/assets/') && !name.includes('/samples/')).map(({ name, transferSize }) => ({ url: name.replace(location.origin, ''), bytes: transferSize }))`,
    ),
  }
}

const sum = (load: Load): number => load.requests.reduce((total, { bytes }) => total + bytes, 0)

inBrowser('a first visit takes at most ten requests and 120 kB; a reload only asks what may have changed', async () => {
  await using app = await startTestApp({}, withBuiltin)
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}`)
  const cold = await readLoad(page)
  const sent = cold.requests.filter(({ bytes }) => bytes > 0)
  expect(sent.length, JSON.stringify(cold)).toBeLessThanOrEqual(10)
  expect(sum(cold), JSON.stringify(cold)).toBeLessThanOrEqual(120_000)

  await page.reload()
  const warm = await readLoad(page)
  expect(warm.requests.filter(({ url, bytes }) => url.startsWith('/console/') && bytes > 0)).toEqual([])
  expect(page.errors).toEqual([])
})

inBrowser('it can be used within half a second here, and within 0.6 s of a reload at 200 ms round trip', async () => {
  await using app = await startTestApp({}, withBuiltin)
  await using page = await browser.openPage()
  await page.open(`${app.url}/#key=${app.account.key}`)
  await readLoad(page)
  await page.send('Network.enable')

  const times = { cold: Number.POSITIVE_INFINITY, warm: Number.POSITIVE_INFINITY }
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    await page.send('Network.clearBrowserCache')
    await page.reload()
    times.cold = Math.min(times.cold, (await readLoad(page)).usableMs)
  }
  const noLimit = { offline: false, downloadThroughput: -1, uploadThroughput: -1 }
  await page.send('Network.emulateNetworkConditions', { ...noLimit, latency: roundTripMs })
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    await page.reload()
    times.warm = Math.min(times.warm, (await readLoad(page)).usableMs)
  }
  // The delay is there: the page, then what it shows.
  expect(times.warm).toBeGreaterThan(2 * roundTripMs)
  expect(times.warm).toBeLessThan(600)
  expect(times.cold).toBeLessThan(500)
})
