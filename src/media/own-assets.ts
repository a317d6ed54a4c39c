// References that are URLs of this server's own outputs: read from the store, since its own address is often a private one.
import { constants } from 'node:fs'
import { copyFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { invalidMedia } from '@mediagen/engine/media.ts'
import type { AssetStore, AssetUrls } from '../core/asset.ts'
import type { MediaReader } from '../core/media.ts'

/** Creates a reader of earlier outputs. As everywhere, anyone with a validly signed URL may read the file. */
export function createOwnAssetReader(assets: Pick<AssetStore, 'root'>, urls: Pick<AssetUrls, 'read'>): MediaReader {
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
      const file = join(assets.root, asset.key)
      const gone = () => invalidMedia(field, 'is a URL of a file of this server that is no longer there')
      const stats = await stat(file).catch(() => null)
      if (!stats?.isFile()) throw gone()
      take(stats.size)
      // A copy (a reflink where the file system supports it), so an engine cannot change the stored output.
      await copyFile(file, path, constants.COPYFILE_FICLONE).catch((error: NodeJS.ErrnoException) => {
        throw error.code === 'ENOENT' ? gone() : error
      })
    },
  }
}
