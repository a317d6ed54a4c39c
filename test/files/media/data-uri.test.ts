// A data: URI becomes exactly the bytes that it carries, or is refused in words that name the field (P105).
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dataUris } from '../../../src/files/media/data-uri.ts'
import { mediaTooLarge } from '../../../src/files/media/reader.ts'

let folder: string
let files = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mediagen-data-uri-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

async function read(reference: string, maxBytes = 10_000_000): Promise<Buffer> {
  const path = join(folder, String((files += 1)))
  const signal = new AbortController().signal
  let left = maxBytes
  const take = (bytes: number): void => {
    left -= bytes
    if (left < 0) throw mediaTooLarge({ field: 'image', maxBytes })
  }
  await dataUris.read({ reference, field: 'image', accountId: 'acct_1', maxBytes, take, signal }, path)
  return await readFile(path)
}

const every = Buffer.from(Array.from({ length: 256 }, (_, value) => value))
// Longer than a piece, and of a length that no piece divides.
const long = Buffer.from(Array.from({ length: 1_000_003 }, (_, index) => (index * 7 + (index >> 8)) % 256))
const escaped = (bytes: Buffer): string => bytes.toString('hex').replaceAll(/../g, '%$&')

test.each([
  ['base64', `data:image/png;base64,${every.toString('base64')}`, every],
  ['base64 for URLs, without padding', `data:;base64,${every.toString('base64url')}`, every],
  ['base64 in lines', `data:;base64,${every.toString('base64').replaceAll(/.{76}/g, '$&\r\n')}`, every],
  ['base64 whose signs are escaped', `data:;base64,${encodeURIComponent(every.toString('base64'))}`, every],
  ['parameters and capitals', `DATA:image/png;name=x;BASE64,${every.toString('base64')}`, every],
  ['escaped bytes', `data:application/octet-stream,${escaped(every)}`, every],
  ['text with escapes', 'data:,a%20b%2Cc ü€😀', Buffer.from('a b,c ü€😀')],
  ['many pieces of base64', `data:;base64,${long.toString('base64')}`, long],
  ['many pieces of base64 in lines', `data:;base64,${long.toString('base64').replaceAll(/.{61}/g, '$&\n')}`, long],
  ['many pieces of escapes', `data:,${escaped(long)}`, long],
  ['many pieces of text', `data:,${'😀%41'.repeat(200_001)}`, Buffer.from('😀A'.repeat(200_001))],
])('%s', async (_name, reference, expected) => {
  expect((await read(reference)).equals(expected)).toBe(true)
})

test.each([
  ['no comma', 'data:image/png;base64', /^image is not a data: URI/],
  ['what is not base64', 'data:;base64,AAAA@AAA', /^image is not valid base64/],
  ['padding in the middle', `data:;base64,AA==${'A'.repeat(600_000)}`, /^image is not valid base64/],
  // The old expression needs minutes.
  ['padding before the end', `data:;base64,${'='.repeat(250_000)}A`, /^image is not valid base64/],
  ['base64 that ends too early', 'data:;base64,AAAAA', /ends too early/],
  ['half an escape', 'data:,%4', /^image is not validly percent-encoded/],
  ['nothing but percent signs', `data:,${'%'.repeat(600_000)}`, /^image is not validly percent-encoded/],
  ['nothing but halves of characters', `data:,${'\uD83D'.repeat(600_000)}`, /^image is too large: .* 1000 bytes/],
  ['more bytes than allowed', `data:,${'x'.repeat(1001)}`, /^image is too large: .* 1000 bytes/],
])('refuses %s', async (_name, reference, message) => {
  await expect(read(reference, 1000)).rejects.toMatchObject({
    code: 'invalid_media',
    message: expect.stringMatching(message),
    retryable: false,
  })
})
