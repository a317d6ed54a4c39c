// What is read of the provenance of outputs, through the store of outputs (P353).
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encode } from 'cborg'
import sharp from 'sharp'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AssetStore } from '../../../src/core/files/asset.ts'
import { createDiskBlobs } from '../../../src/files/blobs/disk.ts'
import { boundProvenance } from '../../../src/files/media/provenance/bound.ts'
import { readClaims } from '../../../src/files/media/provenance/claims.ts'
import { findSoftware } from '../../../src/files/media/provenance/exif.ts'
import { noProvenance } from '../../../src/files/media/provenance/read.ts'
import { openOutputs } from '../../../src/files/outputs.ts'
import { makePicture, readStore, replaceCbor, saidBySigned, signedPng, withChunk } from './fixture.ts'

let base: string
let store: AssetStore
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'mediagen-provenance-'))
  store = openOutputs({ blobs: createDiskBlobs(join(base, 'store')), intake: join(base, 'intake'), maxBytes: 100e6 })
})
afterEach(async () => {
  await store.close()
  rmSync(base, { recursive: true, force: true })
})

/** Stores a file, which must be stored as it came; returns what its record says. */
async function put(content: Buffer) {
  writeFileSync(join(base, 'output'), content)
  const { key, sha256, provenance } = await store.put('job_1', 0, join(base, 'output'))
  const stored = readFileSync(join(base, 'store', key))
  expect(stored.equals(content)).toBe(true)
  expect(sha256).toBe(createHash('sha256').update(content).digest('hex'))
  return provenance
}

test('P353: a signed file says who signed it, what was done and where it is from, and is checked', async () => {
  expect(await put(signedPng)).toEqual(saidBySigned)
  expect(await put(await makePicture())).toEqual(noProvenance)
})

test('P353: without the library the same is read, and nothing is checked', () => {
  const { signed: _, verified: __, problem: ___, ...said } = saidBySigned
  expect(readClaims(readStore())).toEqual(said)
})

test('P353: the digital source type in the XMP of a picture is read', async () => {
  const uri = 'http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia'
  const packet = (inside: string, attributes = '') =>
    `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"${attributes}>${inside}</rdf:Description></rdf:RDF></x:xmpmeta>`
  const packets = [
    packet('', ` Iptc4xmpExt:DigitalSourceType="${uri}"`),
    packet(`<Iptc4xmpExt:DigitalSourceType>${uri}</Iptc4xmpExt:DigitalSourceType>`),
    packet(`<Iptc4xmpExt:DigitalSourceType rdf:resource="${uri}"/>`),
  ]
  for (const xmp of packets)
    for (const format of ['png', 'jpeg', 'webp', 'avif', 'tiff'] as const) {
      const picture = await sharp(await makePicture())
        .withXmp(xmp)
        .toFormat(format)
        .toBuffer()
      const provenance = await put(picture)
      expect([format, provenance]).toEqual([format, { ...noProvenance, sourceType: 'trainedAlgorithmicMedia' }])
    }
})

test('P382: the program in the EXIF of a picture is read, unless a manifest names another', async () => {
  const say = { IFD0: { Artist: 'Ann', Software: 'Example Painter 2;txt2img' } }
  for (const format of ['png', 'jpeg', 'webp', 'avif'] as const) {
    const picture = await sharp(await makePicture())
      .withExif(say)
      .toFormat(format)
      .toBuffer()
    const provenance = await put(picture)
    expect([format, provenance]).toEqual([format, { ...noProvenance, generator: 'Example Painter 2;txt2img' }])
  }
  const exif = (await sharp(await sharp(signedPng).withExif(say).jpeg().toBuffer()).metadata()).exif as Buffer
  const both = withChunk(signedPng, 'eXIf', exif.subarray(6))
  expect(await put(both)).toMatchObject({ generator: 'Example Painter', verified: false })
  // Every byte may be wrong, and every length.
  for (let at = 0; at < exif.length; at++) {
    const damaged = Buffer.from(exif)
    damaged[at] = (damaged[at] ?? 0) ^ 0xff
    for (const bytes of [damaged, exif.subarray(0, at)]) {
      const found = findSoftware(bytes)
      expect(found === null || found.length <= exif.length).toBe(true)
    }
  }
})

test('P354: a file whose manifest is broken, of another file or enormous is stored as it came, and said to be so', async () => {
  const picture = await makePicture()
  const claimed = { ...saidBySigned, verified: false }
  const changed = Buffer.from(signedPng)
  // In the identifier of a chunk that nobody needs.
  expect(await put(withChunk(changed, 'teXt', Buffer.from('a\0b')))).toEqual({
    ...claimed,
    problem: expect.stringMatching(/^The manifest does not fit the file: assertion\.dataHash\.mismatch/),
  })
  expect(await put(withChunk(picture, 'caBX', readStore()))).toEqual({
    ...claimed,
    problem: expect.stringMatching(/^The manifest does not fit the file: assertion\.dataHash\.mismatch/),
  })
  const unread = { ...noProvenance, signed: true }
  for (const content of [
    Buffer.from('no manifest at all'),
    Buffer.alloc(0),
    readStore().subarray(0, 2000),
    Buffer.alloc(5000, 0xff),
  ])
    expect(await put(withChunk(picture, 'caBX', content))).toEqual({
      ...unread,
      verified: false,
      problem: expect.stringMatching(/^The manifest cannot be read: ./),
    })
  const enormous = { ...unread, problem: 'The manifest has more than 4194304 bytes, and is not read.' }
  expect(await put(withChunk(picture, 'caBX', Buffer.alloc(50_000_000, 7)))).toEqual(enormous)
  const gif = await makePicture('gif')
  const blocks = Buffer.alloc(256 * 20_000, 7)
  for (let at = 0; at < blocks.length; at += 256) blocks[at] = 255
  const first = gif.indexOf(0x21, 13)
  const head = Buffer.from('\x21\xff\x0bC2PA_GIF\x01\0\0', 'latin1')
  const large = Buffer.concat([gif.subarray(0, first), head, blocks, Buffer.of(0), gif.subarray(first)])
  expect(await put(large)).toEqual(enormous)
})

test('P354: a manifest that crashes what checks it loses nothing', async () => {
  // Tags in each other, where the claim is.
  const deep = Buffer.concat([Buffer.alloc(250_000, 0xc0), Buffer.of(1)])
  const content = replaceCbor(readStore(), 'c2pa.claim.v2', deep)
  expect(await put(withChunk(await makePicture(), 'caBX', content))).toEqual({
    ...noProvenance,
    signed: true,
    verified: false,
    problem: expect.stringMatching(/^The manifest cannot be read: Maximum call stack/),
  })
})

test('P354: every byte of a manifest may be wrong', () => {
  const store = readStore()
  let unreadable = 0
  for (let at = 0; at < 3000; at++) {
    const damaged = Buffer.from(store)
    damaged[at] = (damaged[at] ?? 0) ^ 0x55
    try {
      boundProvenance({ ...noProvenance, ...readClaims(damaged) })
    } catch (error) {
      expect(error).toBeInstanceOf(Error)
      unreadable += 1
    }
  }
  expect(unreadable).toBeGreaterThan(100)
})

test('P354: a record holds short texts, without signs that control how they are shown', () => {
  const said = {
    ...noProvenance,
    issuer: `Acme\u202e${'x'.repeat(1000)}`,
    actions: Array.from({ length: 1000 }, () => 'c2pa.edited\n'),
  }
  const { issuer, actions } = boundProvenance(said)
  expect([issuer?.length, issuer?.slice(0, 6), actions.length, actions[0]]).toEqual([200, 'Acme x', 32, 'c2pa.edited'])
})

/** A box of JUMBF, and one that has a label. */
function toBox(type: string, ...parts: Buffer[]): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(parts.reduce((sum, part) => sum + part.length, 8))
  head.write(type, 4, 'latin1')
  return Buffer.concat([head, ...parts])
}
const label = (name: string, ...parts: Buffer[]): Buffer =>
  toBox('jumb', toBox('jumd', Buffer.alloc(16), Buffer.of(3), Buffer.from(`${name}\0`)), ...parts)

test('P354: many boxes of empty maps, each within the bound, are not decoded', () => {
  // 256 KiB of such maps take some 100 MB.
  const maps = Buffer.alloc(200_000, 0xa0)
  const list = Buffer.concat([
    Buffer.of(0xa1, 0x67),
    Buffer.from('actions'),
    Buffer.of(0x9a, 0, 0x03, 0x0d, 0x40),
    maps,
  ])
  const boxes = Array.from({ length: 15 }, (_, index) => label(`c2pa.actions__${index}`, toBox('cbor', list)))
  const manifest = label('c2pa', label('m', label('c2pa.assertions', ...boxes)))
  expect(() => readClaims(manifest)).toThrow(/more than \d+ bytes of CBOR/)
})

test('P354: a manifest with enormous texts or lists is stored as it came', async () => {
  const claim = (generator: string) => Buffer.from(encode({ claim_generator: generator }))
  for (const [content, problem] of [
    [claim('x'.repeat(200_000)), null],
    [claim('x'.repeat(1_200_000)), /more than \d+ bytes of CBOR/],
    // A list of empty lists, which takes hundreds of times as much when it is decoded.
    [Buffer.concat([Buffer.of(0x9a, 0, 0x3b, 0, 0), Buffer.alloc(0x3b0000, 0x80)]), /more than \d+ bytes of CBOR/],
  ] as const) {
    const stored = await put(withChunk(await makePicture(), 'caBX', replaceCbor(readStore(), 'c2pa.claim.v2', content)))
    expect(stored).toMatchObject({
      signed: true,
      verified: false,
      problem: problem ? expect.stringMatching(problem) : expect.anything(),
    })
  }
})
