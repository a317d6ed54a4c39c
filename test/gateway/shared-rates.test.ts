// Rates of keys hold for an installation: two processes on one data directory let through no more than one.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'

const perSecond = 16
const byteRate = 4000
const settings = {
  MEDIAGEN_ROLES: 'api',
  MEDIAGEN_RATE_LIMIT: String(perSecond),
  MEDIAGEN_BYTE_RATE: String(byteRate),
  MEDIAGEN_MAX_BODY_BYTES: '4096',
}
let apps: readonly [TestApp, TestApp]

beforeAll(async () => {
  const first = await startTestApp(settings)
  const second = await startTestApp({ ...settings, MEDIAGEN_DATA_DIR: first.config.dataDir })
  apps = [first, second]
  // The first one was alone, and notices soon that it is no longer.
  await vi.waitFor(async () => {
    const { key } = await first.createAccount(0)
    const { passed, seconds } = await flood(apps, (app) => app.send('/v1/wallet', { key }), 40)
    expect(passed).toBeLessThanOrEqual(perSecond + Math.ceil(seconds * perSecond))
  }, 60_000)
})
afterAll(() => Promise.all(apps.map((app) => app[Symbol.asyncDispose]())))

/** How many of so many requests, to each process at once, are let through, and how many may be. */
async function flood(processes: readonly TestApp[], ask: (app: TestApp) => Promise<{ status: number }>, each: number) {
  const begun = performance.now()
  const answers = await Promise.all(processes.flatMap((app) => Array.from({ length: each }, () => ask(app))))
  const seconds = (performance.now() - begun) / 1000
  return { passed: answers.filter(({ status }) => status !== 429).length, seconds }
}

test('MEDIAGEN_RATE_LIMIT: a burst is served once by both together', async () => {
  const { key } = await apps[0].createAccount(0)
  const { passed, seconds } = await flood(apps, (app) => app.send('/v1/wallet', { key }), 40)
  expect(passed).toBeGreaterThanOrEqual(perSecond)
  expect(passed).toBeLessThanOrEqual(perSecond + Math.ceil(seconds * perSecond))
})

test('MEDIAGEN_RATE_LIMIT: one process serves all of it', async () => {
  const { key } = await apps[0].createAccount(0)
  const { passed, seconds } = await flood([apps[1]], (app) => app.send('/v1/wallet', { key }), 60)
  expect(passed).toBeGreaterThanOrEqual(perSecond)
  expect(passed).toBeLessThanOrEqual(perSecond + Math.ceil(seconds * perSecond))
})

test('MEDIAGEN_RATE_LIMIT: requests that are refused for their form count there, too', async () => {
  const { key } = await apps[0].createAccount(0)
  // Not by way of a gateway, which counts its own refusals by itself.
  const ask = ({ app }: TestApp) =>
    fetch(`${app.httpUrl}/v1/models?limit=0`, { headers: { authorization: `Bearer ${key}` } })
  const { passed, seconds } = await flood(apps, ask, 40)
  expect(passed).toBeLessThanOrEqual(perSecond + Math.ceil(seconds * perSecond))
})

test('MEDIAGEN_BYTE_RATE: bytes are shared, too', async () => {
  const { key } = await apps[0].createAccount(0)
  const body = { model: 'test/instant/text-to-image', input: { prompt: 'x'.repeat(3600) } }
  const { passed, seconds } = await flood(apps, (app) => app.send('/v1/quotes', { key, body }), 8)
  expect(passed).toBeGreaterThanOrEqual(4)
  expect(passed).toBeLessThanOrEqual(Math.floor((4 * byteRate + seconds * byteRate) / 3600))
})
