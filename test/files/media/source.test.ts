// What a reference leads to is recognised by its content, or refused in words that name the field.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { usualPictureBounds } from '@mediagen/engine/media.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dataUris } from '../../../src/files/media/data-uri.ts'
import { createRecogniser } from '../../../src/files/media/recognise.ts'
import { createMediaSource } from '../../../src/files/media/source.ts'

const source = createMediaSource([dataUris], createRecogniser(usualPictureBounds))
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mediagen-source-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const toUri = (bytes: Buffer): string => `data:image/png;base64,${bytes.toString('base64')}`

test.each([
  ['SVG', 'data:image/svg+xml,%3Csvg xmlns="http://www.w3.org/2000/svg"/%3E', /SVG/],
  [
    'SVG that claims to be PNG',
    toUri(Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>')),
    /SVG/,
  ],
  ['HTML', toUri(Buffer.from('<!doctype html><html><body>hello</body></html>')), /HTML/],
  ['PDF', toUri(Buffer.from('%PDF-1.7\n%âãÏÓ\n1 0 obj')), /application\/pdf/],
  ['noise', toUri(Buffer.alloc(64, 7)), /not recognised/],
  ['bad base64', 'data:image/png;base64,@@@@@@@@@@@@', /base64/],
  ['no data', 'data:image/png;base64,', /empty/],
])('refuses %s', async (name, reference, message) => {
  const request = { reference, field: 'image', accountId: 'acct_1', maxBytes: 1_000_000, take: () => {} }
  const { signal } = new AbortController()
  await expect(source.fetch({ ...request, signal }, folder, name)).rejects.toMatchObject({
    name: 'EngineError',
    code: 'invalid_media',
    message: expect.stringMatching(message),
    retryable: false,
  })
})
