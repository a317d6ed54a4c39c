// The stored files as clients may read them: what a record says is gone is not there, even while the store of files cannot delete it.
import type { RetentionStore } from '../core/jobs/retention.ts'
import type { Blobs } from './blobs/blobs.ts'

/** What reads them. */
export type KeptBlobs = Pick<Blobs, 'stat' | 'open' | 'copyTo' | 'sign'>

export function createKeptBlobs(blobs: KeptBlobs, store: Pick<RetentionStore, 'hasFiles'>): KeptBlobs {
  const isKept = (key: string): Promise<boolean> => store.hasFiles(key.slice(0, Math.max(0, key.indexOf('/'))))
  return {
    stat: async (key) => ((await isKept(key)) ? blobs.stat(key) : null),
    open: async (key, range) => ((await isKept(key)) ? blobs.open(key, range) : null),
    copyTo: async (key, path, take) => (await isKept(key)) && blobs.copyTo(key, path, take),
    sign: async (key, ms) => ((await isKept(key)) ? blobs.sign(key, ms) : null),
  }
}
