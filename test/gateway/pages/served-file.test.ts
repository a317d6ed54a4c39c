// What a request for a file is answered with.
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { createServedFile } from '../../../src/gateway/pages/served-file.ts'

const content = 'a text that is said again and again. '.repeat(100)
const file = createServedFile({ contentType: 'text/plain', content, headers: { 'x-more': '1' } })

test.each([
  ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
  ['gzip;q=0.8, BR;q=0.5', 'br', brotliDecompressSync],
  ['br;q=0, gzip', 'gzip', gunzipSync],
  ['gzip', 'gzip', gunzipSync],
])('for %s it is compressed by %s', async (accepted, encoding, decompress) => {
  const { status, headers, body } = await file.answer({ 'accept-encoding': accepted })
  expect([status, headers['content-encoding'], headers['vary'], headers['x-more']]).toEqual([
    200,
    encoding,
    'accept-encoding',
    '1',
  ])
  expect(body?.byteLength).toBeLessThan(200)
  expect(decompress(body ?? '').toString()).toBe(content)
})

test.each([undefined, '', 'identity', 'deflate', 'br;q=0.0', 'brr'])('for %s it is sent as it is', async (accepted) => {
  const { headers, body } = await file.answer({ 'accept-encoding': accepted })
  expect(headers).not.toHaveProperty('content-encoding')
  expect(body?.toString()).toBe(content)
})

test('a browser that has it gets nothing again; another content has another hash', async () => {
  const { headers } = await file.answer({})
  const again = await file.answer({ 'if-none-match': `"x", ${headers['etag']}`, 'accept-encoding': 'br' })
  expect([again.status, again.body, again.headers['x-more']]).toEqual([304, null, '1'])
  expect((await file.answer({ 'if-none-match': '"x"' })).status).toBe(200)
  expect(createServedFile({ contentType: 'text/plain', content: 'other' }).hash).not.toBe(file.hash)
  expect(file.hash).toMatch(/^[\w-]{16}$/)
})
