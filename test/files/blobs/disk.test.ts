import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createDiskBlobs } from '../../../src/files/blobs/disk.ts'
import { describeBlobs } from './contract.ts'

async function openRoot() {
  const root = await mkdtemp(join(tmpdir(), 'mediagen-disk-blobs-'))
  return { root, [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) }
}

describeBlobs('on the disk', async () => {
  const opened = await openRoot()
  const root = join(opened.root, 'not/yet/there')
  return { ...opened, blobs: createDiskBlobs(root), again: createDiskBlobs(root) }
})

async function* text(written: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(written)
}

test('no folder is made before the first blob, and none stays after the last', async () => {
  await using opened = await openRoot()
  const root = join(opened.root, 'assets')
  const blobs = createDiskBlobs(root)
  expect(await Array.fromAsync(blobs.list(''))).toEqual([])
  expect(existsSync(root)).toBe(false)
  await blobs.put('job_1/0.bin', text('x'))
  await blobs.delete(['job_1/0.bin'])
  expect((await readdir(root)).filter((name) => !name.startsWith('.'))).toEqual([])
})

test('links are not followed, and only regular files are blobs', async () => {
  await using opened = await openRoot()
  const blobs = createDiskBlobs(opened.root)
  await blobs.put('job_1/0.bin', text('x'))
  await mkdir(join(opened.root, 'job_1/folder'))
  await symlink('/etc/passwd', join(opened.root, 'job_1/link'))
  for (const key of ['job_1/folder', 'job_1/link'])
    expect([await blobs.stat(key), await blobs.open(key)]).toEqual([null, null])
  expect((await Array.fromAsync(blobs.list(''))).map(({ key }) => key)).toEqual(['job_1/0.bin'])
})

test('a blob that cannot be deleted does not prevent the deletion of others', async () => {
  await using opened = await openRoot()
  const blobs = createDiskBlobs(opened.root)
  await mkdir(join(opened.root, 'job_1/0.bin/inside'), { recursive: true })
  await blobs.put('job_1/1.bin', text('x'))
  await expect(blobs.delete(['job_1/0.bin', 'job_1/1.bin'])).rejects.toThrow()
  expect(await blobs.stat('job_1/1.bin')).toBeNull()
})

test.skipIf(!existsSync('/dev/shm'))('a file of another file system is copied', async () => {
  await using opened = await openRoot()
  const blobs = createDiskBlobs(opened.root)
  const other = await mkdtemp('/dev/shm/mediagen-blobs-')
  try {
    await writeFile(join(other, 'a'), 'far away')
    await blobs.put('job_1/0.bin', { file: join(other, 'a') })
    expect(await blobs.stat('job_1/0.bin')).toMatchObject({ bytes: 8 })
    expect(await readdir(other)).toEqual([])
  } finally {
    await rm(other, { recursive: true, force: true })
  }
})

test('an abandoned unfinished file is removed a day later, and one that is still being written stays', async () => {
  await using opened = await openRoot()
  const partial = join(opened.root, '.partial')
  await mkdir(partial)
  const old = new Date(Date.now() - 25 * 3_600_000)
  for (const name of ['old', 'young']) await writeFile(join(partial, name), 'half')
  await utimes(join(partial, 'old'), old, old)
  await createDiskBlobs(opened.root).put('job_1/0.bin', text('x'))
  expect(await readdir(partial)).toEqual(['young'])
})

test('an abandoned file that cannot be removed prevents no upload, and is removed when it can be', async () => {
  await using opened = await openRoot()
  const partial = join(opened.root, '.partial')
  const folder = join(partial, 'a folder')
  await mkdir(folder, { recursive: true })
  await writeFile(join(partial, 'old'), 'half')
  const old = new Date(Date.now() - 25 * 3_600_000)
  for (const path of [folder, join(partial, 'old')]) await utimes(path, old, old)
  const blobs = createDiskBlobs(opened.root)
  await blobs.put('job_1/0.bin', text('x'))
  expect(await blobs.stat('job_1/0.bin')).toMatchObject({ bytes: 1 })
  await rm(folder, { recursive: true })
  await blobs.put('job_1/1.bin', text('x'))
  expect(await readdir(partial)).toEqual([])
})
