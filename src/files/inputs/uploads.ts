// References to uploads, by id or by URL: read from the store, only for the account that uploaded them.
import { invalidMedia } from '@mediagen/engine/media.ts'
import type { AssetUrls } from '../../core/files/asset.ts'
import type { UploadStore } from '../../core/files/upload.ts'
import type { Blobs } from '../blobs/blobs.ts'
import type { MediaReader } from '../media/reader.ts'
import { isUploadId } from '../media/reference.ts'
import { copyStored } from './stored.ts'

export interface UploadReaderDeps {
  readonly store: Pick<UploadStore, 'getUpload'>
  /** The storage of uploaded files. */
  readonly blobs: Pick<Blobs, 'copyTo'>
  readonly urls: Pick<AssetUrls, 'read'>
}

/** Creates a reader of uploads. The owner of the upload is checked, not the signature of the URL. */
export function createUploadReader({ store, blobs, urls }: UploadReaderDeps): MediaReader {
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
      const upload = await store.getUpload(accountId, findId(reference) ?? '')
      if (!upload) throw unknownUpload(field)
      take(upload.bytes)
      if (!(await copyStored(blobs, upload.key, path, field))) throw unknownUpload(field)
    },
  }
}

function unknownUpload(field: string): Error {
  return invalidMedia(field, 'names an upload that the account does not have; it may have been deleted or have expired')
}
