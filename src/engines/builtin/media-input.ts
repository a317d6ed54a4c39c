// Turns a reference to media in an input into bytes whose kind was looked at, never believed.

import { fileTypeFromBuffer } from 'file-type'
import { EngineError } from '../../core/engine.ts'

const acceptedImages = new Map([
  ['image/png', 'PNG'],
  ['image/apng', 'PNG'],
  ['image/jpeg', 'JPEG'],
  ['image/webp', 'WebP'],
  ['image/avif', 'AVIF'],
  ['image/gif', 'GIF'],
])

/**
 * Reads the image that a field of an input refers to: a `data:` URI, base64 or percent-encoded.
 * @param field name of the field, for the words of a refusal
 * @throws EngineError `invalid_media` when it cannot be read or is not an image that we take
 */
export async function readImageInput(field: string, reference: unknown): Promise<Buffer> {
  const bytes = parseDataUri(field, reference)
  const kind = await fileTypeFromBuffer(bytes)
  if (kind && acceptedImages.has(kind.mime)) return bytes
  const accepted = [...new Set(acceptedImages.values())].join(', ')
  const found = kind && kind.mime !== 'application/xml' ? `a file of type ${kind.mime}` : nameMarkup(bytes)
  throw new EngineError('invalid_media', `${field} must be an image (${accepted}), but its content is ${found}.`)
}

function parseDataUri(field: string, reference: unknown): Buffer {
  // Not one regular expression over the whole: a reference is many megabytes long.
  if (typeof reference !== 'string' || reference.slice(0, 5).toLowerCase() !== 'data:') {
    throw new EngineError('invalid_media', `${field} must be a data: URI such as data:image/png;base64,….`)
  }
  const comma = reference.indexOf(',')
  if (comma < 0) throw new EngineError('invalid_media', `${field} is not a data: URI: it has no comma before the data.`)
  const data = reference.slice(comma + 1)
  const bytes = /;\s*base64\s*$/i.test(reference.slice(5, comma))
    ? decodeBase64(field, data)
    : decodePercent(field, data)
  if (bytes.length === 0) throw new EngineError('invalid_media', `${field} is empty.`)
  return bytes
}

function decodeBase64(field: string, data: string): Buffer {
  const text = data.includes('%') ? decodePercent(field, data).toString('latin1') : data
  // Buffer.from skips what is not base64 and would turn a typing error into another file.
  if (/[^A-Za-z0-9+/_=\s-]/.test(text)) throw new EngineError('invalid_media', `${field} is not valid base64.`)
  return Buffer.from(text, 'base64')
}

function decodePercent(field: string, data: string): Buffer {
  try {
    return Buffer.from(decodeURIComponent(data), 'utf8')
  } catch {
    // Percent-encoded bytes that are not UTF-8: binary data.
    if (/%(?![0-9a-f]{2})/i.test(data))
      throw new EngineError('invalid_media', `${field} is not validly percent-encoded.`)
    return Buffer.from(
      data.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
      'latin1',
    )
  }
}

function nameMarkup(bytes: Buffer): string {
  const start = bytes.subarray(0, 1000).toString('latin1').toLowerCase()
  if (start.includes('<svg')) return 'SVG, which is not accepted'
  if (start.includes('<html') || start.includes('<!doctype html')) return 'HTML'
  return 'not recognised'
}
