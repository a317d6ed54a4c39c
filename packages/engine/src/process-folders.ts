// The folders of a forked process: one in which the server leaves files for it, and one that it writes to.

import { chmodSync, chownSync, constants, createWriteStream, mkdirSync } from 'node:fs'
import { chmod, chown, copyFile, link, lstat, open, readdir, rename, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { SystemUser } from './containment.ts'

/** The folders of one process. */
export interface ProcessFolders {
  /** Files from the server, which the process may only read. */
  readonly input: string
  /** Files from the process, which can write to no other folder. */
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

/**
 * Puts a file into a folder for a process to read, as a hard link or, from another disk, as a copy.
 * @param isReadable whether every user may read the file already
 */
export async function handOver(path: string, folder: string, name: string, isReadable = false): Promise<string> {
  const handed = join(folder, name)
  try {
    await link(path, handed)
  } catch (error) {
    // Some file systems have no hard links.
    if (!['EXDEV', 'EPERM', 'ENOTSUP', 'EMLINK'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    await copyFile(path, handed)
  }
  // Whatever the umask of the server is, the process may read it.
  if (!isReadable) await chmod(handed, 0o644)
  return handed
}

/**
 * Takes over a file that a process has left: moves it, or copies it to another disk, and makes the server its owner.
 * @throws Error when it is anything but a file with a single name; it is then removed
 */
export async function moveFile(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    await using file = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    if ((await file.stat()).isFile()) await pipeline(file.createReadStream(), createWriteStream(to, { flags: 'wx' }))
  }
  // Checked after the move, when the process can no longer replace it.
  const stats = await lstat(to)
  if (!stats.isFile() || stats.nlink > 1) {
    await rm(to, { recursive: true, force: true })
    throw new Error('A forked process left something else where a file should be')
  }
  if (process.getuid?.() === 0) await chown(to, 0, 0)
}

/**
 * Empties the folders after a task. Files are unlinked one by one: a recursive removal could be led astray by a process that
 * changes the tree meanwhile.
 * @returns false when they contain anything but files; the process has to end before they can be removed
 */
export async function emptyFolders({ input, output }: ProcessFolders): Promise<boolean> {
  for (const folder of [input, output])
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) return false
      await unlink(join(folder, entry.name))
    }
  return true
}

/** Removes the folder of a process that has ended. */
export function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true })
}
