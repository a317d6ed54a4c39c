// The media types of files by their names, as this service writes them.

const contentTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  avif: 'image/avif',
  gif: 'image/gif',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  flac: 'audio/flac',
  ogg: 'audio/ogg',
  m4a: 'audio/mp4',
  aac: 'audio/aac',
}

/** The media type of a file, from the extension of its name; null for other extensions. */
export function findContentType(name: string): string | null {
  return contentTypes[name.slice(name.lastIndexOf('.') + 1)] ?? null
}

/** The extensions that `findContentType` knows. */
export const mediaExtensions: readonly string[] = Object.keys(contentTypes)
