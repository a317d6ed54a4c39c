// A thumbnail of a file, if it has one.
import { element, icon } from './element.ts'
import { toLocalUrl } from './job-words.ts'
import type { MediaFacts } from './media-file.ts'

/** The thumbnail of a file, or an icon. */
export function mediaPicture({ type, picture }: Pick<MediaFacts, 'type' | 'picture'>): Element {
  if (picture === null || type?.startsWith('audio/')) return icon(type?.startsWith('audio/') ? 'sound' : 'picture')
  const url = toLocalUrl(picture, location.origin)
  const shown = type?.startsWith('video/')
    ? element('video', { src: url, muted: true, preload: 'metadata', playsinline: true })
    : element('img', { src: url, alt: '', decoding: 'async', draggable: 'false' })
  shown.addEventListener('error', () => shown.replaceWith(icon('picture')), { once: true })
  return shown
}
