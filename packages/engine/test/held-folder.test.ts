// A folder that is held open is not confused with another that takes its place.
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { holdFolder } from '../src/held-folder.ts'

let base: string
let folder: string

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'held-folder-'))
  folder = join(base, 'folder')
  for (const name of ['folder', 'foreign']) {
    await mkdir(join(base, name))
    await writeFile(join(base, name, 'file'), name)
  }
})
afterEach(() => rm(base, { recursive: true, force: true }))

test('a folder that is where it was', async () => {
  using held = await holdFolder(folder)
  expect(await held.isInPlace()).toBe(true)
  expect(await readFile(held.pathOf('file'), 'utf8')).toBe('folder')
})

test.each([
  ['a link', () => symlink('foreign', folder)],
  ['another folder', () => rename(join(base, 'foreign'), folder)],
  ['nothing', async () => {}],
])('one in whose place is %s', async (_name, replace) => {
  using held = await holdFolder(folder)
  await rename(folder, join(base, 'moved'))
  await replace()
  expect(await held.isInPlace()).toBe(false)
  // Only Linux lets a path begin at what is open.
  if (process.platform === 'linux') expect(await readFile(held.pathOf('file'), 'utf8')).toBe('folder')
})

test('a link and a file are not held', async () => {
  await symlink('foreign', join(base, 'link'))
  await expect(holdFolder(join(base, 'link'))).rejects.toThrow(/ENOTDIR|ELOOP/)
  await expect(holdFolder(join(folder, 'file'))).rejects.toThrow(/ENOTDIR/)
})
