// The folders of stored files: the outputs of a run, an upload, or an orphan.
import type { Clock } from '../core/clock.ts'
import { isId } from '../core/ids.ts'
import type { FilesFolder, FilesFolders } from '../core/jobs/retention.ts'
import { type Blobs, deleteAll, type StoredBlob } from './blobs/blobs.ts'

/** Creates the port. @param clock the time of the store, since that of one machine may be off */
export function createFilesFolders(blobs: Blobs, clock: Clock): FilesFolders {
  return {
    async *list() {
      // Keys are sorted, so keys of one folder follow each other.
      let folder: FilesFolder | null = null
      for await (const blob of blobs.list('')) {
        const name = blob.key.slice(0, blob.key.indexOf('/'))
        if (!isOurs(name)) continue
        if (folder !== null && folder.name !== name) {
          yield folder
          folder = null
        }
        folder = add(folder ?? { name, files: 0, bytes: 0, untouchedMs: Number.POSITIVE_INFINITY }, blob, clock.nowMs())
      }
      if (folder !== null) yield folder
    },
    remove: (name) => deleteAll(blobs, `${name}/`),
  }
}

function add({ name, files, bytes, untouchedMs }: FilesFolder, blob: StoredBlob, nowMs: number): FilesFolder {
  const ageMs = nowMs - blob.storedAtMs
  return { name, files: files + 1, bytes: bytes + blob.bytes, untouchedMs: Math.min(untouchedMs, ageMs) }
}

/** Whether a name is that of a run (`job_…`, `job_…-2`), of a draft (`job_…-2-1`) or of an upload (`file_…`); whatever else is stored is left alone. */
function isOurs(name: string): boolean {
  return isId('file', name) || isId('job', name.replace(/(?:-\d+){1,2}$/, ''))
}
