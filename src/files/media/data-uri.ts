// References that contain their bytes: `data:` URIs, base64 or percent-encoded.
import { open } from 'node:fs/promises'
import { invalidMedia } from '@mediagen/engine/media.ts'
import type { MediaReader } from './reader.ts'

// Decoded in pieces, because a reference may be many megabytes long and must not block the event loop.
const pieceChars = 256 * 1024

/** Reads `data:` URIs. */
export const dataUris: MediaReader = {
  accepts: (reference) => reference.slice(0, 5).toLowerCase() === 'data:',
  async read(request, path) {
    const { reference, field, take, signal } = request
    const comma = reference.indexOf(',')
    if (comma < 0) throw invalidMedia(field, 'is not a data: URI: it has no comma before the data')
    const isBase64 = /;\s*base64\s*$/i.test(reference.slice(Math.max(5, comma - 100), comma))
    await using file = await open(path, 'wx')
    for (const piece of (isBase64 ? decodeBase64 : decodePercent)(reference, comma + 1, field)) {
      take(piece.length)
      await file.appendFile(piece)
      signal.throwIfAborted()
    }
  },
}

function* decodeBase64(text: string, from: number, field: string): Generator<Buffer> {
  let rest = ''
  let ended = false
  for (const piece of decodePercent(text, from, field)) {
    const written = rest + piece.toString('latin1').replaceAll(/\s+/g, '')
    // Tried at the first mark of a row only: from each of them it would take the square of their number.
    const letters = written.replace(/(?<!=)=+$/, '')
    // Buffer.from skips what is not base64 and would turn a typing error into another file.
    if (/[^A-Za-z0-9+/_-]/.test(letters) || (ended && written !== '')) throw invalidMedia(field, 'is not valid base64')
    ended ||= letters !== written
    const whole = letters.length - (letters.length % 4)
    rest = letters.slice(whole)
    yield Buffer.from(letters.slice(0, whole), 'base64')
  }
  if (rest.length === 1) throw invalidMedia(field, 'is not valid base64: it ends too early')
  yield Buffer.from(rest, 'base64')
}

function* decodePercent(text: string, from: number, field: string): Generator<Buffer> {
  for (let at = from; at < text.length;) {
    let end = Math.min(at + pieceChars, text.length)
    // Do not split an escape or a surrogate pair.
    if (end < text.length) end -= /(?:%.?|[\uD800-\uDBFF])$/.exec(text.slice(end - 2, end))?.[0].length ?? 0
    const piece = text.slice(at, end)
    at = end
    if (!piece.includes('%')) {
      yield Buffer.from(piece)
      continue
    }
    if (/%(?![0-9a-f]{2})/i.test(piece)) throw invalidMedia(field, 'is not validly percent-encoded')
    // Bytes above 127 need not be UTF-8, since they are media.
    yield Buffer.concat(piece.split(/((?:%[0-9a-f]{2})+)/i).map(toBytes))
  }
}

function toBytes(part: string): Buffer {
  return part.startsWith('%') ? Buffer.from(part.replaceAll('%', ''), 'hex') : Buffer.from(part)
}
