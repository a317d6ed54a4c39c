import { describe, expect, test } from 'vitest'
import { createAssetUrls } from '../../src/files/signed-urls.ts'
import { toUrlKey } from '../../src/files/url-keys.ts'

const hourMs = 3_600_000
const noonMs = Date.parse('2026-11-20T12:00:00.000Z')
const toKey = (number: number, createdAtMs = 0, secret = Buffer.alloc(32, number)) =>
  toUrlKey({ number, createdAtMs, secret })
const key = 'job_01jd/0.png'

function createUrls(nowMs: number, baseUrl = 'https://media.example', keys = [toKey(7)]) {
  const clock = { now: nowMs, nowMs: () => clock.now }
  return { urls: createAssetUrls({ keys: () => keys, baseUrl: () => baseUrl, ttlMs: 24 * hourMs, clock }), clock, keys }
}

function toQuery(url: string) {
  return Object.fromEntries(new URL(url).searchParams) as { expires: string; signature: string }
}

describe('signing', () => {
  test('says where the file is and until when, to the next whole hour and a time to live', () => {
    const { urls } = createUrls(noonMs + 1)
    const { url, expiresAtMs } = urls.sign(key)
    expect(expiresAtMs).toBe(noonMs + 25 * hourMs)
    expect(url).toMatch(
      /^https:\/\/media\.example\/assets\/job_01jd\/0\.png\?expires=1795266000&signature=7\.[\w-]{22}$/,
    )
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
    expect(() => toKey(1, 0, Buffer.alloc(4))).toThrow(RangeError)
  })
})

describe('rotation', () => {
  const numberOf = (url: string) => toQuery(url).signature.split('.')[0]

  test('a new key signs when every process has had time to read it; URLs of the old one work until they expire', () => {
    const { urls, clock, keys } = createUrls(noonMs)
    const { url, expiresAtMs } = urls.sign(key)
    keys.push(toKey(8, noonMs))
    expect(urls.sign(key).url).toBe(url)
    clock.now += 5000
    const next = urls.sign(key)
    expect([numberOf(url), numberOf(next.url)]).toEqual(['7', '8'])
    for (const one of [url, next.url]) expect(urls.msLeft(key, toQuery(one))).not.toBeNull()
    clock.now = expiresAtMs + 1
    expect(urls.msLeft(key, toQuery(url))).toBeNull()
  })

  test('URLs of a key that is gone are dead at once, and the new one signs at once', () => {
    const { urls, keys } = createUrls(noonMs)
    const { url } = urls.sign(key)
    keys.splice(0, 1, toKey(8, noonMs))
    expect(urls.msLeft(key, toQuery(url))).toBeNull()
    expect(numberOf(urls.sign(key).url)).toBe('8')
  })

  test('a signature is not good under the number of another key', () => {
    const { urls } = createUrls(noonMs, '', [toKey(7), toKey(8)])
    const { expires, signature } = toQuery(`http://x${urls.sign(key).url}`)
    const bare = signature.slice(signature.indexOf('.') + 1)
    for (const forged of [`7.${bare}`, `9.${bare}`, `08.${bare}`, `.${bare}`, bare, `8${bare}`])
      expect([forged, urls.msLeft(key, { expires, signature: forged })]).toEqual([forged, null])
  })
})

describe('URLs of this installation', () => {
  const { urls: own, clock } = createUrls(noonMs, 'https://media.example/api')
  const { urls: sibling } = createUrls(noonMs, 'http://127.0.0.1:41234')

  test('are known by path and signature, whatever address another process of it has', () => {
    for (const { url } of [own.sign(key), sibling.sign(key)]) {
      expect(own.read(url)).toEqual({ key, valid: true })
      expect(sibling.read(url)).toEqual({ key, valid: true })
    }
  })

  test('are known when they have expired, and said to be invalid', () => {
    const { url, expiresAtMs } = sibling.sign(key)
    clock.now = expiresAtMs + 1
    expect(own.read(url)).toEqual({ key, valid: false })
    clock.now = noonMs
  })

  test('are refused if another key or no key signed them', () => {
    const others = createUrls(noonMs, 'https://elsewhere.example', [toKey(7, 0, Buffer.alloc(32, 9))])
    const { url } = others.urls.sign(key)
    expect(own.read(url)).toBeNull()
    expect(own.read(url.replace(/\?.*/, ''))).toBeNull()
    expect(own.read('https://elsewhere.example/picture.png')).toBeNull()
    expect(own.read('no URL')).toBeNull()
    // Below its own address, a forged one is refused instead of fetched.
    expect(own.read(url.replace('https://elsewhere.example', 'https://media.example/api'))).toEqual({
      key,
      valid: false,
    })
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
    const others = createUrls(clock.now, '', [toKey(7, 0, Buffer.alloc(32, 8))])
    expect(others.urls.msLeft(key, query)).toBe(null)
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
    { expires: 'soon', signature: `7.${'x'.repeat(22)}` },
    { expires: '1e99', signature: `7.${'x'.repeat(22)}` },
    { expires: '9'.repeat(400), signature: `7.${'x'.repeat(22)}` },
    { expires: '1795266000', signature: '\u{1F98A}'.repeat(11) },
    { expires: ['1795266000', '1'], signature: ['x'] },
    { expires: null, signature: null },
  ])('refuses %j without throwing', (query) => {
    expect(createUrls(noonMs).urls.msLeft(key, query as never)).toBe(null)
  })
})
