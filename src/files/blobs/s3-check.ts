// Whether a bucket can be used, and which setting is wrong if it cannot.
import { Readable } from 'node:stream'
import type { Blobs } from './blobs.ts'
import { BlobsError } from './s3-requests.ts'

// Written and deleted at each start; equal in all processes, so that none is left behind for long.
const probe = 'check/written.txt'

// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
const wrongRegion = 'AWS_REGION is not the region of the bucket'
const wrongToken = 'AWS_SESSION_TOKEN is wrong or has expired'
const blame: Readonly<Record<string, string>> = {
  NoSuchBucket: 'the bucket that MEDIAGEN_FILES_URL names does not exist',
  InvalidBucketName: 'MEDIAGEN_FILES_URL names no bucket',
  InvalidAccessKeyId: 'AWS_ACCESS_KEY_ID is unknown there',
  SignatureDoesNotMatch: 'AWS_SECRET_ACCESS_KEY is not the secret of AWS_ACCESS_KEY_ID',
  AccessDenied: 'the key AWS_ACCESS_KEY_ID may not list, write and delete below MEDIAGEN_FILES_URL',
  AuthorizationHeaderMalformed: wrongRegion,
  PermanentRedirect: wrongRegion,
  TemporaryRedirect: wrongRegion,
  InvalidToken: wrongToken,
  ExpiredToken: wrongToken,
  RequestTimeTooSkewed: 'the clock of this machine is off',
}

/**
 * Lists, writes and deletes once, so that a wrong setting is found at the start and not by the first job.
 * @returns null, or what is wrong, in a sentence that names the setting
 */
export async function findBucketTrouble(blobs: Pick<Blobs, 'list' | 'put' | 'delete'>): Promise<string | null> {
  try {
    for await (const _ of blobs.list('any/')) break
    await blobs.put(probe, Readable.from([Buffer.from('mediagen')]))
    await blobs.delete([probe])
    return null
  } catch (error) {
    if (!(error instanceof BlobsError)) throw error
    const known = error.reason === null ? undefined : blame[error.reason]
    return `${error.message}: ${known ?? 'check MEDIAGEN_FILES_URL, AWS_ENDPOINT_URL_S3 and the other AWS_ variables'}.`
  }
}
