// Files of this server as inputs of a run, while the store of files may be in trouble.
import { EngineError } from '@mediagen/engine/engine.ts'
import { isStorageTrouble } from '../../core/storage-trouble.ts'
import type { Blobs } from '../blobs/blobs.ts'

/**
 * Copies a stored file to `path`.
 * @param take see `Blobs.copyTo`
 * @returns false if there is no such file
 * @throws EngineError `media_unavailable` if the store of files or the disk is in trouble
 */
export async function copyStored(
  blobs: Pick<Blobs, 'copyTo'>,
  key: string,
  path: string,
  field: string,
  take?: (bytes: number) => void,
): Promise<boolean> {
  return blobs.copyTo(key, path, take).catch((error: unknown) => {
    if (!isStorageTrouble(error)) throw error
    const words = `${field} cannot be read now: the files of this server are out of reach. Nothing was charged.`
    throw new EngineError('media_unavailable', words, true, { cause: error })
  })
}
