// References that are URLs of this server's own outputs: read from the store, since its own address is often a private one.
import { invalidMedia } from '@mediagen/engine/media.ts'
import type { AssetUrls } from '../../core/files/asset.ts'
import type { Blobs } from '../blobs/blobs.ts'
import type { MediaReader } from '../media/reader.ts'
import { copyStored } from './stored.ts'

/** Creates a reader of earlier outputs. As everywhere, anyone with a validly signed URL may read the file. */
export function createOwnAssetReader(blobs: Pick<Blobs, 'copyTo'>, urls: Pick<AssetUrls, 'read'>): MediaReader {
  return {
    accepts: (reference) => /^https?:/i.test(reference) && urls.read(reference) !== null,
    async read(request, path) {
      const { reference, field, take } = request
      const asset = urls.read(reference)
      if (!asset?.valid)
        throw invalidMedia(
          field,
          'is a URL of this server whose signature is wrong or has expired; read the job again for a fresh one',
        )
      if (!(await copyStored(blobs, asset.key, path, field, take)))
        throw invalidMedia(field, 'is the URL of a file that was deleted or has expired')
    },
  }
}
