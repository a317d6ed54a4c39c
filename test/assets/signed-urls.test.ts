import { describe, expect, test } from 'vitest'
import { createAssetUrls } from '../../src/assets/signed-urls.ts'

const hourMs = 3_600_000
const noonMs = Date.parse('2026-11-20T12:00:00.000Z')
const secret = Buffer.alloc(32, 7)
const key = 'job_01jd/0.png'

function createUrls(nowMs: number, baseUrl = 'https://media.example') {
  const clock = { now: nowMs, nowMs: () => clock.now }
  return { urls: createAssetUrls({ secret, baseUrl: () => baseUrl, ttlMs: 24 * hourMs, clock }), clock }
}

function toQuery(url: string) {
  return Object.fromEntries(new URL(url).searchParams) as { expires: string; signature: string }
}

describe('signing', () => {
  test('says where the file is and until when, to the next whole hour and a time to live', () => {
    const { urls } = createUrls(noonMs + 1)
    const { url, expiresAtMs } = urls.sign(key)
    expect(expiresAtMs).toBe(noonMs + 25 * hourMs)
    expect(url).toMatch(/^https:\/\/media\.example\/assets\/job_01jd\/0\.png\?expires=1795266000&signature=[\w-]{22}$/)
    expect(toQuery(url).expires).toBe(String(expiresAtMs / 1000))
  })

  test('gives the same URL for an hour, then another', () => {
    const { urls, clock } = createUrls(noonMs + 1)
    const { url } = urls.sign(key)
    clock.now = noonMs + hourMs
    expect(urls.sign(key).url).toBe(url)
    clock.now += 1
    expect(urls.sign(key).url).not.toBe(url)
  })

  test('takes a base URL with a path or a slash at its end', () => {
    expect(createUrls(noonMs, 'http://host:8080/media/').urls.sign(key).url).toMatch(
      /^http:\/\/host:8080\/media\/assets\/job_01jd\/0\.png\?/,
    )
  })

  test('needs a real secret', () => {
    const options = { baseUrl: () => '', ttlMs: 1, clock: { nowMs: () => 0 } }
    expect(() => createAssetUrls({ ...options, secret: Buffer.alloc(4) })).toThrow(RangeError)
  })
})

describe('verifying', () => {
  test('accepts a signed URL until it expires', () => {
    const { urls, clock } = createUrls(noonMs + 1)
    const { url, expiresAtMs } = urls.sign(key)
    const query = toQuery(url)
    expect(urls.msLeft(key, query)).toBe(expiresAtMs - clock.now)
    clock.now = expiresAtMs
    expect(urls.msLeft(key, query)).toBe(0)
    clock.now += 1
    expect(urls.msLeft(key, query)).toBe(null)
  })

  test('refuses another key, another expiry, another secret', () => {
    const { urls, clock } = createUrls(noonMs)
    const query = toQuery(urls.sign(key).url)
    expect(urls.msLeft('job_01jd/1.png', query)).toBe(null)
    expect(urls.msLeft(key, { ...query, expires: String(Number(query.expires) + 1) })).toBe(null)
    const others = createAssetUrls({ secret: Buffer.alloc(32, 8), baseUrl: () => '', ttlMs: hourMs, clock })
    expect(others.msLeft(key, query)).toBe(null)
  })

  test('refuses another spelling of the same signature', () => {
    const { urls } = createUrls(noonMs)
    const { expires, signature } = toQuery(urls.sign(key).url)
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = alphabet[alphabet.indexOf(signature.at(-1) as string) + 1] as string
    const twin = signature.slice(0, -1) + last
    expect(Buffer.from(twin, 'base64url')).toEqual(Buffer.from(signature, 'base64url'))
    expect(urls.msLeft(key, { expires, signature: twin })).toBe(null)
    expect(urls.msLeft(key, { expires, signature: `${signature}==` })).toBe(null)
  })

  test.each([
    {},
    { expires: '1795266000' },
    { expires: '', signature: '' },
    { expires: 'soon', signature: 'x'.repeat(22) },
    { expires: '1e99', signature: 'x'.repeat(22) },
    { expires: '9'.repeat(400), signature: 'x'.repeat(22) },
    { expires: '1795266000', signature: '\u{1F98A}'.repeat(11) },
    { expires: ['1795266000', '1'], signature: ['x'] },
    { expires: null, signature: null },
  ])('refuses %j without throwing', (query) => {
    expect(createUrls(noonMs).urls.msLeft(key, query as never)).toBe(null)
  })
})
