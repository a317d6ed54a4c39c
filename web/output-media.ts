// An output on the page: its picture, or a player for its video or sound, with its blurhash until they are loaded.
import { toBlurPicture } from './blurhash.ts'
import { element } from './element.ts'
import { formatLength, toLocalUrl } from './job-words.ts'
import { toFullWidth } from './output-shape.ts'
import { player } from './player.ts'
import type { OutputRecord } from './records.ts'

/** The output in full size, to view or play; `words` is its alternative text. */
export function outputMedia(output: OutputRecord, words: string): HTMLElement {
  const { content_type, width, height } = output
  const url = local(output.url)
  if (url === null) return expired(output)
  const preview = local(output.preview_url)
  // Few browsers show TIFF.
  const isShown = content_type !== 'image/tiff'
  if (content_type.startsWith('image/'))
    return blurred(
      output,
      sized(output, element('img', { src: (isShown && url) || preview, alt: words, width, height })),
      preview,
    )
  if (content_type.startsWith('video/')) {
    const video = element('video', {
      src: url,
      poster: local(output.preview_url),
      controls: true,
      loop: true,
      playsinline: true,
      preload: 'metadata',
    })
    return player(blurred(output, video), words, output)
  }
  if (content_type.startsWith('audio/')) {
    const wave = local(output.preview_url)
    return element(
      'div',
      { class: 'sound' },
      wave !== null && element('img', { class: 'wave', src: wave, alt: '' }),
      player(element('audio', { src: url, controls: true, preload: 'metadata' }), words),
    )
  }
  return element('p', { class: 'empty' }, 'Files of this type cannot be shown here.')
}

/** Gives a picture its size from the beginning: an unloaded one has none. */
function sized({ width, height }: OutputRecord, picture: HTMLElement): HTMLElement {
  if (width && height) picture.style.width = toFullWidth({ width, height })
  return picture
}

/** The output as a thumbnail: its preview and its duration. */
export function outputThumbnail(output: OutputRecord): Node {
  const { content_type, duration_seconds } = output
  const kind = content_type.replace(/\/.*/, '')
  const source = local(output.preview_url) ?? (kind === 'image' ? local(output.url) : null)
  const picture = source
    ? blurred(
        output,
        element('img', { class: kind === 'audio' ? 'wave' : null, src: source, alt: '', loading: 'lazy' }),
      )
    : output.url === null
      ? blurred(output, element('span', { class: 'expired' }, element('span', {}, 'Expired')))
      : element('span', { class: 'tile-kind' }, kind)
  const length =
    duration_seconds === null || kind === 'image'
      ? null
      : element('span', { class: 'tile-length' }, formatLength(duration_seconds))
  const both = document.createDocumentFragment()
  both.append(picture, ...(length ? [length] : []))
  return both
}

/** A placeholder for an expired file, with its aspect ratio and its blurhash, if known. */
function expired(output: OutputRecord): HTMLElement {
  const place = element('div', { class: 'expired' }, element('p', {}, 'The file has expired and was removed.'))
  const { width, height } = output
  if (width && height) {
    place.style.width = toFullWidth({ width, height })
    place.style.aspectRatio = `${width} / ${height}`
  }
  return blurred(output, place)
}

function local(url: string | null): string | null {
  return url === null ? null : toLocalUrl(url, location.origin)
}

/** Shows the blurhash, and over it the preview once it is there, until the media themselves are. */
function blurred<Media extends HTMLElement>(output: OutputRecord, media: Media, preview: string | null = null): Media {
  const pictures = [preview, toBlurPicture(output.blurhash)].filter((picture) => picture !== null)
  if (pictures.length === 0) return media
  media.style.background = pictures.map((picture) => `url("${picture}") center / 100% 100%`).join()
  // They must not show through a transparent picture.
  media.addEventListener('load', () => (media.style.background = ''), { once: true })
  return media
}
