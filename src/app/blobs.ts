// Where the files of an installation are.
import { createDiskBlobs } from '../blobs/disk.ts'
import type { Blobs } from '../core/blobs.ts'
import { layOut } from './data-dir.ts'

/** Creates the port to the files of a data directory. */
export function createBlobs(dataDir: string): Blobs {
  return createDiskBlobs(layOut(dataDir).assets)
}
