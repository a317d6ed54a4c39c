// References to uploads, by id or by URL: read from the disk, only for the account that uploaded them.
import { constants } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { invalidMedia } from '@mediagen/engine/media.ts'
import type { AssetStore, AssetUrls } from '../core/asset.ts'
import type { Clock } from '../core/clock.ts'
import { isUploadId, type MediaReader } from '../core/media.ts'
import type { UploadStore } from '../core/upload.ts'

/** What the reader needs. */
export interface UploadReaderParts {
  readonly store: Pick<UploadStore, 'getUpload'>
  /** The storage of uploaded files. */
  readonly assets: Pick<AssetStore, 'root'>
  readonly urls: Pick<AssetUrls, 'read'>
  readonly clock: Clock
}

/** Creates a reader of uploads. The owner of the upload is checked, not the signature of the URL. */
export function createUploadReader({ store, assets, urls, clock }: UploadReaderParts): MediaReader {
  /** The id of the upload that a reference names; null if it names none. */
  function findId(reference: string): string | null {
    if (isUploadId(reference)) return reference
    const [folder = ''] = /^https?:/i.test(reference) ? (urls.read(reference)?.key.split('/') ?? []) : []
    return isUploadId(folder) ? folder : null
  }

  return {
    accepts: (reference) => findId(reference) !== null,
    async read(request, path) {
      const { reference, field, accountId, take } = request
      const upload = await store.getUpload(accountId, findId(reference) ?? '', clock.nowMs())
      if (!upload) throw unknownUpload(field)
      take(upload.bytes)
      try {
        // A copy (a reflink where the file system supports it), so the upload cannot change and may expire meanwhile.
        await copyFile(join(assets.root, upload.key), path, constants.COPYFILE_FICLONE)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
        throw unknownUpload(field)
      }
    },
  }
}

function unknownUpload(field: string): Error {
  return invalidMedia(field, 'names an upload that the account does not have; it may have been deleted or have expired')
}
