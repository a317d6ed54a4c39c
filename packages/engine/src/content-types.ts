// The media types of inputs and outputs, and the extensions of their files.

/** Content types by the extension of a file. */
export const contentTypes = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  avif: 'image/avif',
  gif: 'image/gif',
  tiff: 'image/tiff',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  mkv: 'video/matroska',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  flac: 'audio/flac',
  ogg: 'audio/ogg',
  m4a: 'audio/mp4',
  aac: 'audio/aac',
  mka: 'audio/matroska',
} as const

/** The extension of a file of this service. */
export type MediaExtension = keyof typeof contentTypes

/** The media type of a file, from the extension of its name; null for other extensions. */
export function findContentType(name: string): string | null {
  const extension = name.slice(name.lastIndexOf('.') + 1)
  return Object.hasOwn(contentTypes, extension) ? contentTypes[extension as MediaExtension] : null
}

/** The extensions that `findContentType` knows. */
export const mediaExtensions: readonly string[] = Object.keys(contentTypes)
