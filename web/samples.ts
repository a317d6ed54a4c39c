// Samples of a model: as the cover of its card, and on its page with a button that fills the form.
import { coverPicture } from './covers.ts'
import { button, element } from './element.ts'
import { toLocalUrl } from './job-words.ts'
import { toFullWidth } from './output-shape.ts'
import { player } from './player.ts'
import type { JsonObject, ModelRecord, SampleRecord } from './records.ts'

// Pictures much wider or higher than a cover are shown whole.
const coverRatios = [1.3, 2] as const

/** The picture of the first sample among models, with the sample's words; null if none has a picture. */
export function sampleCover(models: readonly ModelRecord[]): HTMLImageElement | null {
  for (const sample of models.flatMap(({ samples }) => samples)) {
    const picture = pictureOf(sample)
    if (picture === null) continue
    const { width, height, title, content_type } = sample
    const ratio = width && height ? width / height : coverRatios[0]
    const whole = ratio < coverRatios[0] || ratio > coverRatios[1]
    const look = content_type.startsWith('audio/') ? 'wave' : whole ? 'whole' : null
    return coverPicture(picture, { class: look, alt: title, width, height })
  }
  return null
}

/** The samples of a model. */
export interface Samples {
  /** The first, in full size. */
  readonly first: HTMLElement
  /** All of them, folded. */
  readonly gallery: HTMLDetailsElement
}

/** Shows the samples of a model; `use` gets the input of the one that is chosen. Null if there are none. */
export function showSamples({ samples }: ModelRecord, use: (input: JsonObject) => void): Samples | null {
  const [first] = samples
  if (!first) return null
  return {
    first: element('div', { class: 'stage-sample' }, element('p', { class: 'fine' }, 'A sample'), figure(first, use)),
    gallery: element(
      'details',
      { class: 'samples' },
      element('summary', {}, element('h2', {}, 'Samples')),
      element('div', { class: 'sample-list' }, ...samples.map((sample) => figure(sample, use))),
    ),
  }
}

/** A sample, with a button that fills the form. */
function figure(sample: SampleRecord, use: (input: JsonObject) => void): HTMLElement {
  const { title, input } = sample
  return element(
    'figure',
    { class: 'sample' },
    media(sample),
    element('figcaption', {}, title),
    input && button('Use these settings', () => use(input as JsonObject), { icon: 'again', look: 'quiet small' }),
  )
}

function media(sample: SampleRecord): HTMLElement {
  const { content_type, title, width, height } = sample
  const src = toLocalUrl(sample.url, location.origin)
  const picture = pictureOf(sample)
  if (content_type.startsWith('audio/'))
    return element(
      'div',
      { class: 'sound' },
      picture !== null && element('img', { class: 'wave', src: picture, alt: '', loading: 'lazy' }),
      player(element('audio', { src, controls: true, preload: 'none' }), title),
    )
  if (content_type.startsWith('video/')) {
    const preload = picture === null ? 'metadata' : 'none'
    const film = element('video', { src, poster: picture, controls: true, loop: true, playsinline: true, preload })
    return player(film, title, sample)
  }
  const shown = element('img', { src, width, height, alt: title, loading: 'lazy', decoding: 'async' })
  if (width && height) {
    shown.style.width = toFullWidth({ width, height })
    shown.style.aspectRatio = `${width} / ${height}`
  }
  return shown
}

function pictureOf({ url, preview_url, content_type }: SampleRecord): string | null {
  const picture = preview_url ?? (content_type.startsWith('image/') ? url : null)
  return picture === null ? null : toLocalUrl(picture, location.origin)
}
