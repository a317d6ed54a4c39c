// Conditions and ranges of files, as RFC 9110 has them; assets.test.ts asks a server (P123).
import { Readable } from 'node:stream'
import Fastify from 'fastify'
import { describe, expect, test } from 'vitest'
import { answerRange } from '../../src/files/blobs/byte-range.ts'
import { addAssetRoutes } from '../../src/gateway/routes/assets.ts'

const modifiedAtMs = Date.parse('2026-11-22T12:00:00.700Z')
const validators = { etag: 'W/"a-1"', modifiedAtMs }
const ask = (headers: Record<string, string>, bytes = 100) => answerRange(headers, bytes, validators)
const at = (seconds: number) => new Date(modifiedAtMs + seconds * 1000).toUTCString()
const part = (start: number, end: number) => ({ status: 206, range: { start, end } })
const whole = { status: 200, range: null }
const none = (status: number) => ({ status, range: null })

describe('ranges', () => {
  test.each<[string, object]>([
    ['bytes=0-0', part(0, 0)],
    ['bytes=99-', part(99, 99)],
    ['bytes=-1', part(99, 99)],
    ['bytes=-1000', part(0, 99)],
    ['bytes=5-1000', part(5, 99)],
    ['bytes=100-', none(416)],
    ['bytes=-0', none(416)],
    ['bytes=9-5', whole],
    ['bytes=-', whole],
    ['bytes=0-1,5-6', whole],
    ['bytes=a-b', whole],
    ['items=0-1', whole],
    ['bytes=99999999999999999999-', none(416)],
  ])('%s', (range, asked) => expect(ask({ range })).toEqual(asked))

  test('an empty file has none', () => {
    expect([ask({ range: 'bytes=0-' }, 0), ask({}, 0)]).toEqual([none(416), whole])
  })
})

describe('conditions', () => {
  test.each<[Record<string, string>, object]>([
    [{}, whole],
    [{ 'if-none-match': '"x", W/"a-1"' }, none(304)],
    [{ 'if-none-match': '"a-1"' }, none(304)],
    [{ 'if-none-match': '"x"', 'if-modified-since': at(0) }, whole],
    [{ 'if-modified-since': at(0) }, none(304)],
    [{ 'if-modified-since': at(-1) }, whole],
    [{ 'if-modified-since': 'yesterday' }, whole],
    [{ 'if-none-match': '*', 'cache-control': 'no-cache' }, whole],
    [{ 'if-match': 'W/"a-1"' }, whole],
    [{ 'if-match': '*' }, whole],
    [{ 'if-match': '"x"' }, none(412)],
    [{ 'if-unmodified-since': at(0) }, whole],
    [{ 'if-unmodified-since': at(-1) }, none(412)],
    [{ 'if-range': 'W/"a-1"', range: 'bytes=0-1' }, part(0, 1)],
    [{ 'if-range': '"x"', range: 'bytes=0-1' }, whole],
    [{ 'if-range': at(0), range: 'bytes=0-1' }, part(0, 1)],
    [{ 'if-range': at(-1), range: 'bytes=0-1' }, whole],
  ])('%j', (headers, asked) => expect(ask(headers)).toEqual(asked))
})

test('a store that serves its files itself is where GET is sent, while HEAD is answered here', async () => {
  const app = Fastify().decorateRequest('client', '127.0.0.1')
  const blobs = {
    stat: async (key: string) => ({ key, bytes: 4, storedAtMs: modifiedAtMs }),
    open: async () => Readable.from(['file']),
    sign: async (key: string, ms: number) => `https://bucket.example/${key}?for=${ms}`,
  }
  addAssetRoutes(app, { blobs, urls: { msLeft: () => 5000 }, samples: blobs }, { inAll: 1, perOwner: 1 })
  const get = await app.inject('/assets/job_1/0.png')
  expect([get.statusCode, get.headers.location]).toEqual([307, 'https://bucket.example/job_1/0.png?for=5000'])
  const head = await app.inject({ method: 'HEAD', url: '/assets/job_1/0.png' })
  expect([head.statusCode, head.headers['content-length'], head.headers['content-type']]).toEqual([
    200,
    '4',
    'image/png',
  ])
})
