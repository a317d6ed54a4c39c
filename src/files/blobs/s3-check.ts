// Whether a bucket can be used, and which setting is wrong if it cannot.
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Blobs } from './blobs.ts'
import { BlobsError } from './s3-requests.ts'

const content = 'mediagen'

/**
 * Lists, writes, reads and deletes once, so that a wrong setting is found at the start and not by the first job.
 * @param probe a key of no other process; what is left there if this process dies is an orphan
 * @returns null, or what is wrong, in a sentence that names the setting
 */
export async function findBucketTrouble(
  blobs: Pick<Blobs, 'list' | 'put' | 'open' | 'delete'>,
  probe: string,
): Promise<string | null> {
  try {
    for await (const _ of blobs.list('any/')) break
    // Nothing is left where nothing can be deleted.
    await blobs.delete([probe])
    try {
      await blobs.put(probe, Readable.from([Buffer.from(content)]))
      const stored = await blobs.open(probe)
      if (stored === null || (await text(stored)) !== content)
        throw new BlobsError('The store of files does not return what was written to it')
    } finally {
      await blobs.delete([probe])
    }
    return null
  } catch (error) {
    if (!(error instanceof BlobsError)) throw error
    const advice = 'check MEDIAGEN_FILES_URL, AWS_ENDPOINT_URL_S3 and the other AWS_ variables'
    return error.isExplained ? `${error.message}.` : `${error.message}: ${advice}.`
  }
}
