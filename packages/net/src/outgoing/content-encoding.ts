// What a server says of the coding of a body that it sends. RFC 9110, 8.4.

// Not a coding of what is stored: S3 keeps the header of uploads that were sent in signed chunks.
const uncoded = /^(identity|aws-chunked)?$/i

/** Whether a body is sent as it is: without the header, or with one that names no coding. */
export function isUncoded(header: string | readonly string[] | undefined): boolean {
  const codings = [header ?? ''].flat().flatMap((line) => line.split(','))
  return codings.every((coding) => uncoded.test(coding.trim()))
}
