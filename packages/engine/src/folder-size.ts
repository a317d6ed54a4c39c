// The size of a run's folder, checked while an engine works there.

import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError } from './engine.ts'

/** Maximum number of entries in one folder tree; a run with more is stopped like one that writes too much. */
const maxEntries = 10_000

/**
 * Checks that all files below `folder`, hidden ones and subfolders included, stay within `maxBytes` together.
 * @throws EngineError `output_too_large`
 */
export async function checkFolderSize(folder: string, maxBytes: number): Promise<void> {
  let bytes = 0
  let entries = 0
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const entry of await readdir(next, { withFileTypes: true }).catch(() => [])) {
      entries += 1
      const path = join(next, entry.name)
      if (entry.isDirectory()) folders.push(path)
      // A file may be removed at any moment; then it does not count.
      else if (entry.isFile()) bytes += (await lstat(path).catch(() => ({ size: 0 }))).size
      if (bytes > maxBytes) {
        throw new EngineError('output_too_large', `The run wrote more than ${maxBytes} bytes.`)
      }
      if (entries > maxEntries) {
        throw new EngineError('output_too_large', `The run left more than ${maxEntries} files.`)
      }
    }
  }
}
