// Outputs that this service signs or marks, through the store of outputs (P356 to P359).
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Reader } from '@contentauth/c2pa-node'
import sharp from 'sharp'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AssetStore } from '../../../src/core/files/asset.ts'
import { type Claim, toOutputSourceType } from '../../../src/core/files/provenance.ts'
import { createDiskBlobs } from '../../../src/files/blobs/disk.ts'
import type { SignerOptions } from '../../../src/files/media/provenance/sign/signer.ts'
import { openOutputs } from '../../../src/files/outputs.ts'
import { makeFilm, makeSound } from '../recordings.ts'
import { makePicture, openTestSigner, readStore, signedPng, withChunk } from './fixture.ts'

let base: string
let store: AssetStore | null = null
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'mediagen-sign-'))
})
afterEach(async () => {
  await store?.close()
  store = null
  rmSync(base, { recursive: true, force: true })
})

const claim: Claim = {
  jobId: 'job_1',
  model: 'acme/paint',
  version: '2.1',
  sourceType: 'trainedAlgorithmicMedia',
  input: { prompt: 'a secret lighthouse' },
  ingredients: [],
}
const signedByUs = {
  signed: true,
  verified: true,
  issuer: 'Acme Studio',
  generator: 'mediagen',
  sourceType: 'trainedAlgorithmicMedia',
  problem: null,
}

function open(options: Partial<SignerOptions> = {}): AssetStore {
  store = openOutputs({
    blobs: createDiskBlobs(join(base, 'store')),
    intake: join(base, 'intake'),
    maxBytes: 100e6,
    signer: openTestSigner(base, options),
  })
  return store
}

/** Stores a file; returns its record, and the file as it was stored. */
async function put(content: Buffer, said: Partial<Claim> = {}, to = store ?? open()) {
  writeFileSync(join(base, 'output'), content)
  const asset = await to.put('job_1', 0, join(base, 'output'), { claim: { ...claim, ...said } })
  const stored = readFileSync(join(base, 'store', asset.key))
  expect({ bytes: asset.bytes, sha256: asset.sha256 }).toEqual({
    bytes: stored.length,
    sha256: createHash('sha256').update(stored).digest('hex'),
  })
  return { ...asset, stored }
}

/** What the library's own reader says. */
async function readBack(buffer: Buffer, mimeType: string) {
  const reader = await Reader.fromAsset({ buffer, mimeType })
  const report = reader?.json() as any
  const manifest = report.manifests[report.active_manifest]
  const { data } = manifest.assertions.find(({ label }: { label: string }) => label === 'c2pa.actions.v2')
  return { state: report.validation_state, manifest, actions: data.actions, ...report }
}

const pixels = (picture: Buffer): Promise<Buffer> => sharp(picture, { animated: true }).raw().toBuffer()

/** A GIF of two frames, each with colours of its own. */
function makeAnimation(): Promise<Buffer> {
  const frames = Buffer.alloc(64 * 96 * 3, 40).fill(200, 64 * 48 * 3)
  return sharp(frames, { raw: { width: 64, height: 96, channels: 3, pageHeight: 48 } })
    .gif({ delay: [100, 100], loop: 0 })
    .toBuffer()
}

test('P356: pictures, films and sounds are signed with their model, job and source, and say nothing of the input', async () => {
  const pictures: Buffer[] = []
  for (const format of ['png', 'jpeg', 'webp', 'avif', 'gif'] as const) pictures.push(await makePicture(format))
  for (const picture of [...pictures, await makeAnimation()]) {
    const { stored, contentType, provenance } = await put(picture)
    expect([contentType, provenance]).toEqual([contentType, { ...signedByUs, actions: ['c2pa.created'] }])
    expect(await pixels(stored)).toEqual(await pixels(picture))
    const { state, manifest, actions } = await readBack(stored, contentType)
    expect([contentType, state, manifest.title]).toEqual([contentType, 'Valid', 'job_1'])
    expect(actions).toEqual([
      {
        action: 'c2pa.created',
        softwareAgent: { name: 'acme/paint', version: '2.1' },
        digitalSourceType: 'http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia',
        parameters: { 'mediagen.job_id': 'job_1' },
      },
    ])
    expect(stored.includes('lighthouse')).toBe(false)
  }
  const recordings = [
    await makeFilm(base, 'mp4', null, 1),
    ...(await Promise.all((['mp3', 'wav', 'm4a'] as const).map((format) => makeSound(base, format, 1)))),
  ]
  for (const path of recordings) {
    const { stored, contentType, provenance } = await put(readFileSync(path))
    expect([contentType, provenance]).toEqual([contentType, { ...signedByUs, actions: ['c2pa.created'] }])
    expect((await readBack(stored, contentType)).state).toBe('Valid')
  }
})

test('P356: with the setting, the input is said', async () => {
  const { stored } = await put(await makePicture(), {}, open({ saysInput: true }))
  const { actions } = await readBack(stored, 'image/png')
  expect(actions[0].parameters['mediagen.input']).toBe('{"prompt":"a secret lighthouse"}')
})

test('P356: media of the input are ingredients, also those whose manifest is broken', async () => {
  const [photo, broken] = [join(base, 'photo.png'), join(base, 'broken.png')]
  writeFileSync(photo, signedPng)
  writeFileSync(broken, withChunk(await makePicture(), 'caBX', Buffer.from('no manifest at all')))
  const sourceType = toOutputSourceType('trainedAlgorithmicMedia', true)
  const { stored, provenance } = await put(await makePicture('png', 9), {
    sourceType,
    ingredients: [{ path: photo, name: 'image' }],
  })
  expect(provenance).toEqual({
    ...signedByUs,
    actions: ['c2pa.created'],
    sourceType: 'compositeWithTrainedAlgorithmicMedia',
  })
  const { manifest, manifests } = await readBack(stored, 'image/png')
  expect(manifest.ingredients).toMatchObject([{ title: 'image', relationship: 'inputTo' }])
  // With what the provider of the photo said.
  expect(Object.keys(manifests)).toHaveLength(2)

  const second = await put(await makePicture(), { sourceType, ingredients: [{ path: broken, name: 'image' }] })
  expect(second.provenance).toMatchObject({ signed: true, verified: true, problem: null })
  const named = await readBack(second.stored, 'image/png')
  expect(named.manifest.ingredients).toMatchObject([{ title: 'image', relationship: 'inputTo' }])
})

test('P357: the manifest of a provider becomes the parent, and is there as it was', async () => {
  const { stored, provenance } = await put(signedPng)
  expect(provenance).toEqual({ ...signedByUs, actions: ['c2pa.opened'] })
  const { manifest, manifests } = await readBack(stored, 'image/png')
  expect(manifest.ingredients).toMatchObject([{ relationship: 'parentOf' }])
  const parent = manifests[manifest.ingredients[0].active_manifest]
  expect(parent).toMatchObject({ signature_info: { issuer: 'Example Provider' } })
  expect(await pixels(stored)).toEqual(await pixels(signedPng))

  // Of another file: ours says so too, and so does the record.
  const claimed = await put(withChunk(await makePicture(), 'caBX', readStore()))
  expect(claimed.provenance).toMatchObject({
    ...signedByUs,
    actions: ['c2pa.opened'],
    problem: expect.stringMatching(
      /^Before it was signed: The manifest does not fit the file: assertion\.dataHash\.mis/,
    ),
  })
  const said = (await readBack(claimed.stored, 'image/png')).manifest
  expect(JSON.stringify(said.ingredients[0].validation_results)).toContain('assertion.dataHash.mismatch')
})

test('P358: an output that cannot be signed is delivered as it came, and its record says why', async () => {
  const unsigned = async (content: Buffer, said: Partial<Claim>, problem: RegExp) => {
    const { stored, provenance } = await put(content, said)
    expect(stored.equals(content)).toBe(true)
    expect(provenance?.problem).toMatch(problem)
  }
  const garbage = withChunk(await makePicture(), 'caBX', Buffer.from('no manifest at all'))
  await unsigned(garbage, {}, /^It was not signed: ./)
  await unsigned(await makePicture(), { sourceType: null }, /^It was not signed: its model has no source_type/)
  await unsigned(await makePicture('tiff'), {}, /^It was not signed: files of type image\/tiff cannot be/)
})

test('P358: canceling a job ends the signing', async () => {
  writeFileSync(join(base, 'output'), await makePicture())
  const cancel = AbortSignal.abort(new Error('canceled'))
  await expect(open().put('job_1', 0, join(base, 'output'), { claim, signal: cancel })).rejects.toThrow('canceled')
})

test('P359: pictures are marked without a certificate, and their pixels stay as they are', async () => {
  open({ credentials: null, marks: true })
  const transparent = sharp({ create: { width: 20, height: 10, channels: 4, background: '#12345680' } })
  const pictures = [
    ...(await Promise.all((['png', 'jpeg', 'webp'] as const).map((format) => makePicture(format)))),
    await transparent.clone().webp({ lossless: true }).toBuffer(),
    await transparent.clone().webp().toBuffer(),
    await sharp(await makePicture())
      .withExif({ IFD0: { Artist: 'Ann' } })
      .jpeg()
      .toBuffer(),
  ]
  for (const [index, picture] of pictures.entries()) {
    const { stored, provenance } = await put(picture)
    expect([index, provenance]).toMatchObject([
      index,
      { signed: false, sourceType: 'trainedAlgorithmicMedia', problem: null },
    ])
    expect((await sharp(stored).metadata()).xmpAsString).toContain('digitalsourcetype/trainedAlgorithmicMedia')
    expect(await pixels(stored)).toEqual(await pixels(picture))
  }
})

test('P359: what a file says already is not touched, and what cannot be marked is said', async () => {
  open({ credentials: null, marks: true })
  const own = await sharp(await makePicture())
    .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"/>')
    .png()
    .toBuffer()
  for (const picture of [signedPng, own]) expect((await put(picture)).stored.equals(picture)).toBe(true)
  const { provenance } = await put(await makePicture('gif'))
  expect(provenance?.problem).toBe('It was not marked: files of type image/gif cannot be')
})

test('P359: a picture can be marked and signed', async () => {
  const { stored, provenance } = await put(await makePicture('jpeg'), {}, open({ marks: true }))
  expect(provenance).toEqual({ ...signedByUs, actions: ['c2pa.created'] })
  expect((await sharp(stored).metadata()).xmpAsString).toContain('digitalsourcetype/trainedAlgorithmicMedia')
})

const exiftool = spawnSync('exiftool', ['-ver']).status === 0

test.runIf(exiftool)('P359: another program reads the mark, and the signature beside it', async () => {
  open({ marks: true })
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    const { stored } = await put(await makePicture(format))
    const path = join(base, `marked.${format}`)
    writeFileSync(path, stored)
    const [read] = JSON.parse(spawnSync('exiftool', ['-j', '-G1', path], { encoding: 'utf8' }).stdout)
    expect([format, read['XMP-iptcExt:DigitalSourceType']]).toEqual([
      format,
      'http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia',
    ])
    // It knows no manifest in a WebP.
    if (format !== 'webp') expect([format, read['JUMBF:JUMDLabel']]).toEqual([format, 'c2pa'])
  }
})

/** Processes of this one with an entry, and whether each has ever loaded what decodes pictures. */
function findProcesses(entry: string): { decodes: boolean }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [, parent] = /^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        if (Number(parent) !== process.pid || !command.includes(entry)) return []
        return [{ decodes: readFileSync(`/proc/${pid}/maps`, 'utf8').includes('libvips') }]
      } catch {
        // It has ended meanwhile.
        return []
      }
    })
}

test.runIf(process.platform === 'linux')('P381: no process that has the key decodes a picture', async () => {
  open({ marks: true })
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    const { provenance } = await put(await makePicture(format))
    expect(provenance).toEqual({ ...signedByUs, actions: ['c2pa.created'] })
  }
  expect(findProcesses('/sign/mark-process.ts')).toContainEqual({ decodes: true })
  const signing = findProcesses('/sign/process.ts')
  expect(signing.length).toBeGreaterThan(0)
  for (const one of signing) expect(one).toEqual({ decodes: false })
})

test('P359: bytes behind the end of a WebP do not become part of the mark', async () => {
  open({ credentials: null, marks: true })
  const picture = await makePicture('webp')
  const { stored, provenance } = await put(Buffer.concat([picture, Buffer.from('abc')]))
  expect(await pixels(stored)).toEqual(await pixels(picture))
  expect(provenance).toMatchObject({ sourceType: 'trainedAlgorithmicMedia', problem: null })
})
