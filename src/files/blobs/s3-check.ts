// Whether a bucket can be used, and which setting is wrong if it cannot.
import { text } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import type { Blobs } from './blobs.ts'
import { BlobsError } from './s3-requests.ts'

// Written, read and deleted at each start; equal in all processes, so that none is left behind for long.
const probe = 'check/written.txt'
const content = 'mediagen'

/**
 * Lists, writes, reads and deletes once, so that a wrong setting is found at the start and not by the first job.
 * @returns null, or what is wrong, in a sentence that names the setting
 */
export async function findBucketTrouble(
  blobs: Pick<Blobs, 'list' | 'put' | 'open' | 'delete'>,
): Promise<string | null> {
  try {
    for await (const _ of blobs.list('any/')) break
    await blobs.put(probe, Readable.from([Buffer.from(content)]))
    const stored = await blobs.open(probe)
    const isKept = stored !== null && (await text(stored)) === content
    await blobs.delete([probe])
    if (!isKept) throw new BlobsError('The store of files does not return what was written to it')
    return null
  } catch (error) {
    if (!(error instanceof BlobsError)) throw error
    const advice = 'check MEDIAGEN_FILES_URL, AWS_ENDPOINT_URL_S3 and the other AWS_ variables'
    return error.isExplained ? `${error.message}.` : `${error.message}: ${advice}.`
  }
}
