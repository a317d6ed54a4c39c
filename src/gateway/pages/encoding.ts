// Compression of answers, for clients whose Accept-Encoding asks for it.
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

// Best first.
const encoders = {
  br: (body: Buffer, level: number) =>
    promisify(brotliCompress)(body, {
      params: { [constants.BROTLI_PARAM_QUALITY]: level, [constants.BROTLI_PARAM_SIZE_HINT]: body.byteLength },
    }),
  gzip: (body: Buffer, level: number) => promisify(gzip)(body, { level }),
}

export type Encoding = keyof typeof encoders

/** Matches a part of the header that names an encoding, and not with the weight 0. */
const wanted = (Object.keys(encoders) as Encoding[]).map((encoding) => ({
  encoding,
  pattern: new RegExp(`^\\s*${encoding}\\s*(;\\s*q=(?!0(\\.0*)?\\s*$)|$)`, 'i'),
}))

/** The best encoding that an Accept-Encoding header allows; undefined if it allows none. */
export function chooseEncoding(accepted?: string | readonly string[]): Encoding | undefined {
  if (accepted === undefined) return undefined
  const parts = String(accepted).split(',')
  return wanted.find(({ pattern }) => parts.some((part) => pattern.test(part)))?.encoding
}

/** Compresses a body, off the main thread; `level` is from 1 (fast) to 9 (small). */
export function encode(encoding: Encoding, body: Buffer, level: number): Promise<Buffer> {
  return encoders[encoding](body, level)
}
