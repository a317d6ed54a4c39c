// Large answers are compressed for clients that ask for it, and sent as they are to others (P132).
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { startTestApp, withBuiltin } from '../test-app.ts'

const app = await startTestApp({ MEDIAGEN_CORS_ORIGINS: 'https://app.example' }, withBuiltin)
afterAll(() => app[Symbol.asyncDispose]())
const start = (): Promise<unknown> => app.generate('test/nothing/text-to-image', { prompt: 'a fox' }, { wait: true })
for (let started = 0; started < 4; started += 1) await start()

/** Asks as fetch would not: it compresses and decompresses by itself. */
async function ask(path: string, accepted?: string, method = 'GET') {
  const headers = { authorization: `Bearer ${app.account.key}`, ...(accepted && { 'accept-encoding': accepted }) }
  const sent = request(app.url + path, { method, headers }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: answer.statusCode, headers: answer.headers, body: await buffer(answer) }
}

const large = [
  '/v1/models',
  '/v1/models?grouped=true',
  '/v1/models/builtin/image/poster/text-to-image',
  '/v1/jobs',
  '/openapi.json',
]

test.each(large)('%s has at most half its size for who asks, and says the same', async (path) => {
  const plain = await ask(path)
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(plain.headers['content-length']).toBe(String(plain.body.length))
  for (const [encoding, undo] of [
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const) {
    const { headers, body } = await ask(path, `deflate, ${encoding}`)
    expect([headers['content-encoding'], headers['content-length']]).toEqual([encoding, String(body.length)])
    expect(body.length).toBeLessThan(plain.body.length / 2)
    expect(JSON.parse(undo(body).toString())).toEqual(JSON.parse(plain.body.toString()))
    // Bodies that are kept are compressed once.
    expect((await ask(path, encoding)).body.equals(body)).toBe(true)
  }
})

test('caches keep them apart, also by the origins that may read them', async () => {
  for (const accepted of [undefined, 'br'])
    expect((await ask('/v1/models', accepted)).headers['vary']).toBe('Origin, accept-encoding')
})

test('a small answer, a refusal and a weight of 0 are left as they are', async () => {
  for (const path of ['/v1/models/categories', '/v1/models?limit=1&search=instant', '/v1/models/none', '/v1/wallet'])
    expect([path, (await ask(path, 'br, gzip')).headers['content-encoding']]).toEqual([path, undefined])
  expect((await ask('/v1/models', 'br;q=0')).headers['content-encoding']).toBeUndefined()
})

test('the head of a large answer is that of the answer', async () => {
  const [get, head] = await Promise.all([ask('/v1/models', 'br'), ask('/v1/models', 'br', 'HEAD')])
  expect(head.body.length).toBe(0)
  for (const name of ['content-encoding', 'content-length', 'content-type', 'vary'])
    expect([name, head.headers[name]]).toEqual([name, get.headers[name]])
})
