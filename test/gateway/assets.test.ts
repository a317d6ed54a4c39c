// GET /assets/…: outputs under signed URLs (P18, P123, P130, P131, P154, P206).
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'
import { sendRaw } from './raw-http.ts'
import { createTestClock } from './test-clock.ts'

const clock = createTestClock()
const app = await startTestApp({ MEDIAGEN_ASSET_URL_TTL_SECONDS: '60' }, { clock })
afterAll(() => app[Symbol.asyncDispose]())

const { body: job } = await app.generate('test/usage/text-to-image', { seconds: 1, used: 1 })
const [output] = job.outputs
const picture = readFileSync(join(import.meta.dirname, '../models/picture.png'))
// Assets are served by the core, whoever answered with the URL.
const { origin, pathname, search } = new URL(output.url)

/** Changes parts of the signed URL. */
function alter(change: (url: URL) => void): string {
  const url = new URL(output.url)
  change(url)
  return url.href
}

async function expectNoAsset(url: string): Promise<void> {
  const response = await fetch(url)
  expect(response.status).toBe(404)
  expect(await response.json()).toMatchObject({ code: 'asset_not_found', status: 404 })
}

test('the file is what the record says: bytes, type and SHA-256; no key is needed', async () => {
  const response = await fetch(output.url)
  const bytes = Buffer.from(await response.arrayBuffer())
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe(output.content_type)
  expect(bytes.equals(picture)).toBe(true)
  expect([bytes.length, Number(response.headers.get('content-length'))]).toEqual([output.bytes, output.bytes])
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(output.sha256)
})

test('whatever the file holds is shown or saved, never run', async () => {
  const { headers } = await fetch(output.url)
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('content-security-policy')).toContain('sandbox')
})

test('a file may be cached for as long as its URL works, and not a second longer', async () => {
  const caching = (await fetch(output.url)).headers.get('cache-control')
  const leftSeconds = Math.floor((Date.parse(output.expires_at) - clock.ms) / 1000)
  expect(caching).toBe(`public, max-age=${leftSeconds}, immutable`)
})

test('a job read again within the hour shows the same URL', async () => {
  const again = await app.send(`/v1/jobs/${job.job_id}`)
  expect(again.body.outputs[0].url).toBe(output.url)
})

describe('conditional requests', () => {
  // fetch would add Cache-Control: no-cache, which asks for the file whatever the condition.
  const get = (headers: Record<string, string>) => sendRaw(origin, { path: pathname + search, headers })

  test('an ETag that is still right answers 304 without a body', async () => {
    const etag = (await get({})).headers.get('etag') ?? ''
    expect(etag).not.toBe('')
    const answer = await get({ 'if-none-match': etag })
    expect([answer.status, answer.text, answer.headers.get('etag')]).toEqual([304, '', etag])
    expect((await get({ 'if-none-match': '*' })).status).toBe(304)
  })

  test('another ETag answers with the file', async () => {
    expect((await get({ 'if-none-match': '"other"' })).status).toBe(200)
  })

  test('If-Modified-Since at the time of the file answers 304', async () => {
    const since = (await get({})).headers.get('last-modified') ?? ''
    expect((await get({ 'if-modified-since': since })).status).toBe(304)
  })

  test('If-Match with another ETag answers 412', async () => {
    const answer = await get({ 'if-match': '"other"' })
    expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([412, '', null])
  })
})

describe('ranges', () => {
  test.each([
    ['bytes=0-3', 0, 4],
    ['bytes=4-', 4, picture.length],
    ['bytes=-5', picture.length - 5, picture.length],
    ['bytes=0-999999', 0, picture.length],
  ])('%s is answered in part', async (range, start, end) => {
    const response = await fetch(output.url, { headers: { range } })
    expect(response.status).toBe(206)
    expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${picture.length}`)
    expect(Buffer.from(await response.arrayBuffer()).equals(picture.subarray(start, end))).toBe(true)
  })

  test('a download is resumed by its ETag, which is strong', async () => {
    const etag = (await fetch(output.url)).headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[^"]+"$/)
    const resume = (ifRange: string) => fetch(output.url, { headers: { range: 'bytes=4-', 'if-range': ifRange } })
    const rest = await resume(etag)
    expect([rest.status, rest.headers.get('etag')]).toEqual([206, etag])
    expect(Buffer.from(await rest.arrayBuffer()).equals(picture.subarray(4))).toBe(true)
    expect((await resume('"other"')).status).toBe(200)
  })

  test('a range beyond the end is not satisfiable', async () => {
    const response = await fetch(output.url, { headers: { range: `bytes=${picture.length}-` } })
    expect(response.status).toBe(416)
    expect(response.headers.get('content-range')).toBe(`bytes */${picture.length}`)
    expect([response.headers.get('content-type'), await response.text()]).toEqual([null, ''])
  })

  test.each(['lines=1-2', 'nonsense'])('%s is no range, and passed over', async (range) => {
    expect((await fetch(output.url, { headers: { range } })).status).toBe(200)
  })

  test('ranges are announced', async () => {
    expect((await fetch(output.url)).headers.get('accept-ranges')).toBe('bytes')
  })
})

test('a saved file has a name that tells its job', async () => {
  const [, run] = /assets\/(job_[^/]+)\/0\.(\w+)\?/.exec(output.url) ?? []
  expect((await fetch(output.url)).headers.get('content-disposition')).toMatch(
    new RegExp(`^inline; filename="mediagen-${run}-0\\.\\w+"$`),
  )
})

test('HEAD answers as GET does, without the file', async () => {
  const [head, get] = await Promise.all([fetch(output.url, { method: 'HEAD' }), fetch(output.url)])
  expect([head.status, (await head.arrayBuffer()).byteLength]).toEqual([200, 0])
  for (const name of [
    'content-type',
    'content-length',
    'etag',
    'cache-control',
    'accept-ranges',
    'x-content-type-options',
  ])
    expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)])
})

describe('a URL that is not exactly as it was signed finds nothing', () => {
  test.each<[string, (url: URL) => void]>([
    ['an altered signature', (url) => url.searchParams.set('signature', 'A'.repeat(22))],
    [
      'a cut signature',
      (url) => url.searchParams.set('signature', (url.searchParams.get('signature') ?? '').slice(0, -1)),
    ],
    ['no signature', (url) => url.searchParams.delete('signature')],
    ['an empty signature', (url) => url.searchParams.set('signature', '')],
    ['a second signature', (url) => url.searchParams.append('signature', 'x')],
    ['a later expiry', (url) => url.searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 1))],
    ['an expiry written otherwise', (url) => url.searchParams.set('expires', `0${url.searchParams.get('expires')}`)],
    ['no expiry', (url) => url.searchParams.delete('expires')],
    ['nothing at all', (url) => (url.search = '')],
    ['another file', (url) => (url.pathname = url.pathname.replace('0.png', '1.png'))],
    ['another job', (url) => (url.pathname = url.pathname.replace(/job_\w+/, 'job_01jd00000000000000000000'))],
  ])('%s', (_what, change) => expectNoAsset(alter(change)))

  test.each([
    '/assets/../mediagen.db',
    '/assets/..%2fmediagen.db',
    '/assets/%2e%2e/mediagen.db',
    '/assets//etc/passwd',
    '/assets/',
  ])('nobody climbs out: %s', async (path) => {
    const { status, body } = await sendRaw(origin, { path: path + search })
    expect([status, body.code]).toEqual([404, 'asset_not_found'])
  })

  test('a signed path is not found by another spelling that leads elsewhere', async () => {
    const climbed = pathname.replace('/assets/', '/assets/x/../')
    expect((await sendRaw(origin, { path: climbed + search })).status).toBe(404)
  })
})

test('only GET and HEAD are allowed', async () => {
  const response = await fetch(output.url, { method: 'DELETE' })
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
})

test('the URL works through the very millisecond of expires_at, and no longer; the job then shows a fresh one', async () => {
  clock.ms = Date.parse(output.expires_at)
  expect((await fetch(output.url)).status).toBe(200)
  clock.ms += 1
  await expectNoAsset(output.url)
  const fresh = (await app.send(`/v1/jobs/${job.job_id}`)).body.outputs[0]
  expect(fresh.url).not.toBe(output.url)
  expect((await fetch(fresh.url)).status).toBe(200)
})

test('a URL works at least as long as the operator says', async () => {
  const { body } = await app.send(`/v1/jobs/${job.job_id}`)
  expect(Date.parse(body.outputs[0].expires_at) - clock.ms).toBeGreaterThanOrEqual(60_000)
})
