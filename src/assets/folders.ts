// The folders of the asset store on the disk: those of runs and uploads, and orphans.
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

/** Null if the folder does not exist yet. Throws if it cannot be read. */
async function openRoot(root: string): Promise<Dir | null> {
  try {
    return await opendir(root)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return null
  }
}

/** Whether a folder belongs to a run (`job_…`, `job_…-2`) or an upload (`file_…`); others, such as `lost+found`, are left alone. */
function isOurs(name: string): boolean {
  return isId('file', name) || isId('job', name.replace(/-\d+$/, ''))
}

/** Null if it was removed meanwhile. */
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
    // By the file system's clock.
    untouchedMs: own ? Date.now() - touchedAtMs : 0,
  }
}
