// Files that lie anywhere on the disk, read as blobs by names of their own.
import { open, stat } from 'node:fs/promises'
import type { Blobs } from './blobs.ts'

/**
 * Creates the port.
 * @param findPath the path of the file with a name; undefined if there is none
 */
export function createNamedFiles(findPath: (name: string) => string | undefined): Pick<Blobs, 'stat' | 'open'> {
  return {
    async stat(name) {
      const path = findPath(name)
      const found = path === undefined ? null : await stat(path).catch(() => null)
      return found && { key: name, bytes: found.size, storedAtMs: Math.floor(found.mtimeMs) }
    },
    async open(name, range) {
      const path = findPath(name)
      const file = path === undefined ? null : await open(path).catch(() => null)
      return file && file.createReadStream(range)
    },
  }
}
