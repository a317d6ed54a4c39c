// Where a bucket is: from the setting of this service, `s3://bucket/prefix`, and those that all S3 programs share.

/** A bucket and the beginning of the names of our objects in it. */
export interface BucketAddress {
  readonly bucket: string
  /** Empty, or with a slash at its end. */
  readonly prefix: string
}

/**
 * Reads `s3://bucket` or `s3://bucket/prefix`; null for an empty text.
 * @throws Error whose message completes "… must be"
 */
export function parseBucketAddress(text: string): BucketAddress | null {
  if (text === '') return null
  const [, bucket, path = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[\w.-]+)*)\/?$/.exec(text) ?? []
  if (bucket === undefined || /\/\.{1,2}(\/|$)/.test(path))
    throw new Error('must be `s3://bucket` or `s3://bucket/prefix`, the prefix of letters, digits and `._-/`')
  return { bucket, prefix: path === '' ? '' : `${path.slice(1)}/` }
}

/**
 * The URL of a bucket. The bucket is in the path at a store of one's own, and in the host name at AWS, except for names with dots, for
 * which its certificate is not valid.
 * @param endpoint address of the store; null for AWS
 */
export function toBucketUrl({ bucket }: BucketAddress, endpoint: string | null, region: string): string {
  if (endpoint !== null) return `${endpoint}/${bucket}`
  const host = `s3.${region}.amazonaws.com`
  return bucket.includes('.') ? `https://${host}/${bucket}` : `https://${bucket}.${host}`
}

/** A bucket as the setting writes it. */
export function formatBucket({ bucket, prefix }: BucketAddress): string {
  return `s3://${bucket}/${prefix}`.replace(/\/$/, '')
}
