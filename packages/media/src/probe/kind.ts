// Recognises the media type of a file from its content alone.

import { fileTypeFromFile } from 'file-type'
import { invalidOutput } from '../invalid-output.ts'

/** A media type that is served. */
export interface Kind {
  readonly contentType: string
  /** Usual file name extension, without a dot. */
  readonly extension: string
  /** sharp's name for the format of a picture; null for a recording. */
  readonly picture: string | null
}

/** The largest part of a file that is read to recognise it. */
const maxSniffBytes = 1024 * 1024

/** The served types, by the extension that file-type reports. */
const kinds: Readonly<Record<string, Kind>> = {
  png: { contentType: 'image/png', extension: 'png', picture: 'png' },
  jpg: { contentType: 'image/jpeg', extension: 'jpg', picture: 'jpeg' },
  webp: { contentType: 'image/webp', extension: 'webp', picture: 'webp' },
  avif: { contentType: 'image/avif', extension: 'avif', picture: 'heif' },
  gif: { contentType: 'image/gif', extension: 'gif', picture: 'gif' },
  mp4: { contentType: 'video/mp4', extension: 'mp4', picture: null },
  webm: { contentType: 'video/webm', extension: 'webm', picture: null },
  mp3: { contentType: 'audio/mpeg', extension: 'mp3', picture: null },
  wav: { contentType: 'audio/wav', extension: 'wav', picture: null },
  flac: { contentType: 'audio/flac', extension: 'flac', picture: null },
  ogg: { contentType: 'audio/ogg', extension: 'ogg', picture: null },
  opus: { contentType: 'audio/ogg', extension: 'ogg', picture: null },
  m4a: { contentType: 'audio/mp4', extension: 'm4a', picture: null },
  aac: { contentType: 'audio/aac', extension: 'aac', picture: null },
}

/**
 * Recognises an image, a video or a sound that may be served.
 * @param name name of the file in messages
 * @throws EngineError `output_invalid` for every other type of file, including SVG and HTML
 */
export async function recogniseKind(path: string, name: string): Promise<Kind> {
  // A damaged file can make the detection itself fail; its type is then unknown.
  const type = await fileTypeFromFile(path, { maxBufferSize: maxSniffBytes }).catch(() => undefined)
  if (type === undefined) throw invalidOutput(name, 'is of an unknown type; it must be an image, a video or a sound')
  const kind = kinds[type.ext]
  if (kind === undefined || (kind.picture !== null && type.mime !== kind.contentType))
    throw invalidOutput(name, `is ${type.mime}, which is not served`)
  return kind
}
