// Files with and without a manifest, and the certificate of a test. signed.png was made once with the library of C2PA.
import { chmodSync, copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import sharp from 'sharp'
import type { Provenance } from '../../../src/core/files/provenance.ts'
import { readCredentials } from '../../../src/files/media/provenance/sign/certificate.ts'
import { createSigner, type Signer, type SignerOptions } from '../../../src/files/media/provenance/sign/signer.ts'

export const fixture = (name: string): string => join(import.meta.dirname, name)

/** A picture that a provider has signed, and what it says. */
export const signedPng = readFileSync(fixture('signed.png'))
export const saidBySigned: Provenance = {
  signed: true,
  verified: true,
  issuer: 'Example Provider',
  generator: 'Example Painter',
  actions: ['c2pa.created'],
  sourceType: 'trainedAlgorithmicMedia',
  problem: null,
}

/** What signs by the certificate of the tests; its key goes into a folder. */
export function openTestSigner(folder: string, options: Partial<SignerOptions> = {}): Signer {
  const signKey = join(folder, 'key.pem')
  copyFileSync(fixture('key.pem'), signKey)
  chmodSync(signKey, 0o600)
  const files = { signCertificate: fixture('certificate.pem'), signKey, signFailure: 'deliver' } as const
  return createSigner({
    credentials: readCredentials(files, Date.now()),
    marks: false,
    saysInput: false,
    maxRssBytes: 1e9,
    timeoutMs: 60_000,
    maxBytes: 100e6,
    ...options,
  })
}

/** The manifest store of that picture. */
export function readStore(): Buffer {
  const at = signedPng.indexOf('caBX', 0, 'latin1')
  return signedPng.subarray(at + 4, at + 4 + signedPng.readUInt32BE(at - 4))
}

/** A picture that says nothing. */
export function makePicture(
  format: 'png' | 'jpeg' | 'webp' | 'avif' | 'gif' | 'tiff' = 'png',
  blue = 7,
): Promise<Buffer> {
  const background = { r: 200, g: 100, b: blue }
  return sharp({ create: { width: 64, height: 48, channels: 3, background } })
    .toFormat(format)
    .toBuffer()
}

/** Puts a chunk behind the head of a PNG. */
export function withChunk(png: Buffer, type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(content.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([png.subarray(0, 33), length, body, sum, png.subarray(33)])
}

/** A manifest store with other content in the box of CBOR below a label. */
export function replaceCbor(boxes: Buffer, label: string, content: Buffer): Buffer {
  const made: Buffer[] = []
  let here = ''
  for (let at = 0, end = 0; at + 8 <= boxes.length; at = end) {
    end = at + boxes.readUInt32BE(at)
    const type = boxes.toString('latin1', at + 4, at + 8)
    const body = boxes.subarray(at + 8, end)
    if (type === 'jumd') here = body.toString('utf8', 17, body.indexOf(0, 17))
    const changed = type === 'jumb' ? replaceCbor(body, label, content) : here === label ? content : body
    const head = Buffer.from(boxes.subarray(at, at + 8))
    head.writeUInt32BE(8 + (type === 'jumd' ? body : changed).length)
    made.push(head, type === 'jumd' ? body : changed)
  }
  return Buffer.concat(made)
}
