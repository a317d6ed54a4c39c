// Content-Encoding of files.

// Some servers name the encoding that changes nothing, and stores like S3 the one of an upload in chunks, which is undone.
const plain: ReadonlySet<string> = new Set(['', 'identity', 'aws-chunked'])

/** Whether the header says that a body is compressed; it may list several encodings, and some may be empty. */
export function isCompressed(header: string | readonly string[] | undefined): boolean {
  const encodings = [header ?? []].flat().join(',').split(',')
  return encodings.some((encoding) => !plain.has(encoding.trim().toLowerCase()))
}
