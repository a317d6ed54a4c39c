// A file as browsers fetch it: compressed once for each encoding, and answered with 304 where it is known.
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { findOrMake } from '@mediagen/engine/first-use.ts'
import { chooseEncoding, encode, type Encoding } from './encoding.ts'

/** What a file is. */
export interface FileContent {
  readonly contentType: string
  readonly content: string
  /** Further headers of the answer. */
  readonly headers?: Readonly<Record<string, string>>
}

/** What a request for a file is answered with. */
export interface FileAnswer {
  readonly status: 200 | 304
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | null
}

/** A file that can be served. */
export interface ServedFile {
  /** Changes with the content; 16 characters of a URL. */
  readonly hash: string
  /** The answer to a request with these headers. */
  answer(headers: IncomingHttpHeaders): Promise<FileAnswer>
}

// Brotli's last two levels take twenty times as long as this one for 8% less.
const level = 9

/** Creates a file. It is compressed when a request first asks for an encoding. */
export function createServedFile({ contentType, content, headers = {} }: FileContent): ServedFile {
  const body = Buffer.from(content)
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 16)
  // Weak: one tag for all encodings.
  const etag = `W/"${hash}"`
  const common = { 'content-type': contentType, etag, vary: 'accept-encoding', ...headers }
  const encoded = new Map<Encoding, Promise<Buffer>>()
  return {
    hash,
    async answer({ 'if-none-match': known = '', 'accept-encoding': accepted }) {
      if (known.includes(etag)) return { status: 304, headers: common, body: null }
      const encoding = chooseEncoding(accepted)
      if (encoding === undefined) return { status: 200, headers: common, body }
      const compressed = await findOrMake(encoded, encoding, () => encode(encoding, body, level))
      return { status: 200, headers: { ...common, 'content-encoding': encoding }, body: compressed }
    },
  }
}
