// What a forked process has of the disk: a folder that the server leaves files in for it, and one that it writes to.

import { chmodSync, chownSync, constants, createWriteStream, mkdirSync } from 'node:fs'
import { chmod, chown, copyFile, link, lstat, open, readdir, rename, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { SystemUser } from './containment.ts'

/** The folders of one process. */
export interface ProcessFolders {
  /** What the server hands to the process, which only reads here. */
  readonly input: string
  /** Where the process leaves what it makes; nothing else of the disk can it write to. */
  readonly output: string
}

/** Creates the folders of a process below a folder of its own, which must not exist. @param owner user who writes to them */
export function makeFolders(folder: string, owner: SystemUser | null): ProcessFolders {
  const folders = { input: join(folder, 'in'), output: join(folder, 'out') }
  mkdirSync(folders.input, { recursive: true })
  // Whatever the umask of the server is.
  for (const open of [folder, folders.input]) chmodSync(open, 0o755)
  mkdirSync(folders.output, { mode: 0o700 })
  if (owner) chownSync(folders.output, owner.uid, owner.gid)
  return folders
}

/** Puts a file into a folder for a process to read, as another name of the same file or, from another disk, as a copy. */
export async function handOver(path: string, folder: string, name: string): Promise<string> {
  const handed = join(folder, name)
  try {
    await link(path, handed)
  } catch (error) {
    // Some file systems have no second names.
    if (!['EXDEV', 'EPERM', 'ENOTSUP', 'EMLINK'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    await copyFile(path, handed)
  }
  // Whatever the umask of the server is, the process may read it.
  await chmod(handed, 0o644)
  return handed
}

/**
 * Takes a file that a process has left: moves it, or copies it to another disk, and makes it the server's own.
 * @throws Error when there is anything but a file with a single name, which is then removed
 */
export async function moveFile(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    await using file = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    if ((await file.stat()).isFile()) await pipeline(file.createReadStream(), createWriteStream(to, { flags: 'wx' }))
  }
  // Looked at once it is where the process cannot put something else in its place.
  const stats = await lstat(to)
  if (!stats.isFile() || stats.nlink > 1) {
    await rm(to, { recursive: true, force: true })
    throw new Error('A forked process left something else where a file should be')
  }
  if (process.getuid?.() === 0) await chown(to, 0, 0)
}

/**
 * Empties the folders after a task. Files are unlinked one by one: what walks down a tree could be led astray by whoever
 * changes it meanwhile.
 * @returns false when there is something else in them; whoever left it has to be gone before they can be removed
 */
export async function emptyFolders({ input, output }: ProcessFolders): Promise<boolean> {
  for (const folder of [input, output])
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) return false
      await unlink(join(folder, entry.name))
    }
  return true
}

/** Removes the folder of a process that is gone. */
export function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true })
}
