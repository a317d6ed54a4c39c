// The size and digest of a file.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'

/** A file as its record knows it. */
export interface Digest {
  readonly bytes: number
  /** Lower-case hexadecimal SHA-256. */
  readonly sha256: string
}

/** Reads a file once. */
export async function digest(path: string): Promise<Digest> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    hash.update(chunk as Buffer)
    bytes += (chunk as Buffer).length
  }
  return { bytes, sha256: hash.digest('hex') }
}
