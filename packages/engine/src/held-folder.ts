// A folder that is held open, because a program may replace its folder, or one above it, by a symbolic link. Paths through the
// open folder still lead to the original.

import fs, { accessSync, closeSync, constants, fstatSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

// Cheaper than a FileHandle, and every run with outputs opens a folder.
const openDescriptor = promisify(fs.open)

/** A folder held open. */
export interface HeldFolder extends Disposable {
  /** A path that leads to `name` in the folder that was opened, wherever that is by now (Linux; elsewhere its path). */
  pathOf(name: string): string
  /** Whether the path still leads to the folder that was opened, and not through a link. */
  isInPlace(): Promise<boolean>
}

/**
 * Opens a folder.
 * @throws the error of the system when it cannot be opened, or is a link or no folder
 */
export async function holdFolder(path: string): Promise<HeldFolder> {
  const descriptor = await openDescriptor(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  // The system knows an open folder without reading the disk.
  const opened = fstatSync(descriptor)
  const here = findOpened(descriptor) ?? path
  return {
    pathOf: (name) => join(here, name),
    async isInPlace() {
      const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
        throw error
      })
      return found !== null && found.isDirectory() && found.dev === opened.dev && found.ino === opened.ino
    },
    [Symbol.dispose]: () => closeSync(descriptor),
  }
}

/** The path by which Linux names an open file of this process; null on other systems. */
function findOpened(descriptor: number): string | null {
  const path = `/proc/self/fd/${descriptor}`
  try {
    accessSync(path)
    return path
  } catch {
    return null
  }
}
