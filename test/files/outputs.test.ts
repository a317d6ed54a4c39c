import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, link, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AssetStore } from '../../src/core/files/asset.ts'
import { createDiskBlobs } from '../../src/files/blobs/disk.ts'
import { noProvenance } from '../../src/files/media/provenance/read.ts'
import { openOutputs } from '../../src/files/outputs.ts'

let base: string
let root: string
let intake: string
let store: AssetStore
let png: Buffer

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'mediagen-assets-'))
  root = join(base, 'data', 'store')
  intake = join(base, 'data', 'intake')
  store = openOutputs({ blobs: createDiskBlobs(root), intake, maxBytes: 100_000 })
  png = await sharp({ create: { width: 40, height: 30, channels: 3, background: '#246' } })
    .png()
    .toBuffer()
})
afterEach(async () => {
  await store.close()
  await rm(base, { recursive: true, force: true })
})

/** Leaves a file as an engine would. */
async function leave(name: string, content: Buffer | string, mode = 0o644): Promise<string> {
  const path = join(base, name)
  await writeFile(path, content, { mode })
  return path
}

describe('put', () => {
  test('stores the file under the job, by what it is and not by its name', async () => {
    const asset = await store.put('job_1', 2, await leave('picture.txt', png))
    expect(asset).toEqual({
      key: 'job_1/2.png',
      contentType: 'image/png',
      bytes: png.length,
      width: 40,
      height: 30,
      durationSeconds: null,
      sha256: createHash('sha256').update(png).digest('hex'),
      previewKey: 'job_1/2.preview.webp',
      blurhash: expect.stringMatching(/^.{20,40}$/),
      provenance: noProvenance,
    })
    expect(await readFile(join(root, asset.key))).toEqual(png)
    expect((await readdir(join(root, 'job_1'))).toSorted()).toEqual(['2.png', '2.preview.webp'])
  })

  test('P220: a WAV that was streamed is stored with true lengths, and described as it is stored', async () => {
    const toWave = (form: number, data: number): Buffer => {
      const head = Buffer.from(
        'RIFF....WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data....',
        'latin1',
      )
      head.writeUInt32LE(form, 4)
      head.writeUInt32LE(data, 40)
      return Buffer.concat([head, Buffer.alloc(16_000)])
    }
    const whole = toWave(16_036, 16_000)
    const asset = await store.put('job_1', 0, await leave('speech', toWave(0xffff_ffff, 0x7fff_ffff)))
    expect(asset).toMatchObject({
      contentType: 'audio/wav',
      bytes: whole.length,
      durationSeconds: 1,
      sha256: createHash('sha256').update(whole).digest('hex'),
    })
    expect(await readFile(join(root, asset.key))).toEqual(whole)
  })

  test('several outputs at the same time, and one again', async () => {
    const paths = await Promise.all(['a', 'b', 'c'].map((name) => leave(name, png)))
    await Promise.all(paths.map((path, index) => store.put('job_1', index, path)))
    await store.put('job_1', 1, await leave('b', png))
    const names = ['0.png', '0.preview.webp', '1.png', '1.preview.webp', '2.png', '2.preview.webp']
    expect((await readdir(join(root, 'job_1'))).toSorted()).toEqual(names)
  })

  test('a file that only its owner may not read is readable in the store', async () => {
    const { key } = await store.put('job_1', 0, await leave('a.png', png, 0o000))
    expect((await stat(join(root, key))).mode & 0o777).toBe(0o644)
  })

  test('a file with a second hard link is copied, so that it cannot be changed afterwards', async () => {
    const path = await leave('a.png', png)
    await link(path, join(base, 'cache.png'))
    const { key } = await store.put('job_1', 0, path)
    await writeFile(join(base, 'cache.png'), 'changed')
    expect(await readFile(join(root, key))).toEqual(png)
  })

  test.runIf(process.getuid?.() === 0)(
    'a hard link to a file of another user is refused (only root may make one here)',
    async () => {
      const path = await leave('a.png', png)
      await chown(path, 1, 1)
      await link(path, join(base, 'b.png'))
      await expect(store.put('job_1', 0, join(base, 'b.png'))).rejects.toMatchObject({
        code: 'output_invalid',
        message: 'Output b.png is another name (a hard link) of a file of another user.',
      })
    },
  )

  test.skipIf(!existsSync('/dev/shm'))('a file on another file system is copied', async () => {
    const other = await mkdtemp('/dev/shm/mediagen-assets-')
    try {
      await writeFile(join(other, 'a.png'), png)
      const { key } = await store.put('job_1', 0, join(other, 'a.png'))
      expect(await readFile(join(root, key))).toEqual(png)
    } finally {
      await rm(other, { recursive: true, force: true })
    }
  })

  test('refuses what is empty, too large, a link, a folder, or not media, and leaves nothing behind', async () => {
    await symlink(await leave('real.png', png), join(base, 'link.png'))
    await mkdir(join(base, 'folder.png'))
    const refused: [string, string][] = [
      [await leave('empty.png', ''), 'Output empty.png is empty.'],
      [await leave('large.png', Buffer.alloc(100_001)), 'Output large.png is larger than 100000 bytes.'],
      [join(base, 'link.png'), 'Output link.png is not a regular file.'],
      [join(base, 'folder.png'), 'Output folder.png is not a regular file.'],
      [await leave('page.png', '<html></html>'), 'Output page.png is of an unknown type'],
    ]
    for (const [path, message] of refused) {
      const failure = { name: 'EngineError', code: 'output_invalid', message: expect.stringContaining(message) }
      await expect(store.put('job_1', 0, path)).rejects.toMatchObject(failure)
    }
    expect([existsSync(root), await readdir(intake)]).toEqual([false, []])
  })

  test('a job id never leads out of the store', async () => {
    const path = await leave('a.png', png)
    for (const id of ['..', '../x', 'a/b', '', '.hidden']) {
      await expect(store.put(id, 0, path)).rejects.toThrow(TypeError)
      await expect(store.remove(id)).rejects.toThrow(TypeError)
    }
  })
})

describe('remove', () => {
  test('removes all files of the job, half-written ones too, and is quiet about others', async () => {
    await store.put('job_1', 0, await leave('a.png', png))
    await writeFile(join(root, 'job_1', '.1-half'), 'x')
    await store.put('job_2', 0, await leave('b.png', png))
    await store.remove('job_1')
    await store.remove('job_3')
    expect(await readdir(root)).toEqual(['job_2'])
  })
})
