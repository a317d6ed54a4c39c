// The folders of the asset store as they are on the disk: of runs and of uploads, and what nothing names any more.
import type { Dir } from 'node:fs'
import { opendir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isId } from '../core/ids.ts'
import type { FilesFolder, FilesFolders } from '../core/retention.ts'

/** Creates the port. */
export function createFilesFolders(root: string): FilesFolders {
  return {
    async *list() {
      for await (const entry of (await openRoot(root)) ?? []) {
        if (!entry.isDirectory() || !isOurs(entry.name)) continue
        const folder = await measure(root, entry.name)
        if (folder) yield folder
      }
    },
    remove: (folder) => rm(join(root, folder), { recursive: true, force: true }),
  }
}

/** Null before anything was stored. A folder that cannot be read is another matter. */
async function openRoot(root: string): Promise<Dir | null> {
  try {
    return await opendir(root)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return null
  }
}

/** Whether a folder is one of a run (`job_…`, `job_…-2`) or of an upload (`file_…`); others, such as `lost+found`, are not touched. */
function isOurs(name: string): boolean {
  return isId('file', name) || isId('job', name.replace(/-\d+$/, ''))
}

/** Null for what was removed meanwhile. */
async function measure(root: string, name: string): Promise<FilesFolder | null> {
  const path = join(root, name)
  const found = await readdir(path).catch(() => null)
  if (!found) return null
  const sizes = await Promise.all(
    [path, ...found.map((file) => join(path, file))].map((one) => stat(one).catch(() => null)),
  )
  const [own, ...files] = sizes
  const touchedAtMs = Math.max(...sizes.map((stats) => stats?.mtimeMs ?? 0))
  return {
    name,
    files: files.length,
    bytes: files.reduce((sum, stats) => sum + (stats?.size ?? 0), 0),
    // A clock of its own: that of the file system.
    untouchedMs: own ? Date.now() - touchedAtMs : 0,
  }
}
