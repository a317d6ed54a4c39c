// What is said in a narrated film and when: one sound, and the captions with the times of their words.

import { mapChannels, type Sound } from '../sound/sound.ts'
import { type SpeakOptions, speak, type Speech, type SpokenSentence, type Timed } from '../speech/speak.ts'

/** A few words that are seen together, each with the time at which it is said. */
export type Page = readonly Timed[]

/** The sound of a film and what belongs to it; times in seconds. */
export interface Narration {
  readonly sound: Sound
  readonly seconds: number
  /** The time at which the text begins after the title. */
  readonly titleEnd: number
  readonly pages: readonly Page[]
}

/** Letters of a page, about. */
const pageLength = 84
const [before, afterTitle, after, leastTitle] = [0.35, 0.45, 1.3, 2.4]

/**
 * Speaks title and text.
 * @throws EngineError `invalid_input` naming what cannot be said
 */
export async function narrate(
  title: string,
  text: string,
  speakTitle: boolean,
  options: Pick<SpeakOptions, 'voice' | 'speed' | 'pitch' | 'expression'>,
): Promise<Narration> {
  const opening = speakTitle ? await speak(title, { ...options, field: 'title' }) : null
  const speech = await speak(text, { ...options, field: 'text' })
  const titleEnd = Math.max(leastTitle, before + (opening ? lengthOf(opening) + afterTitle : 0))
  const seconds = titleEnd + lengthOf(speech) + after
  const sound = layOut(seconds, speech.sound.sampleRate, [
    ...(opening ? [{ speech: opening, at: before }] : []),
    { speech, at: titleEnd },
  ])
  const pages = speech.sentences
    .flatMap(divideSentence)
    .map((page) => page.map((word) => ({ ...word, start: word.start + titleEnd, end: word.end + titleEnd })))
  return { sound, seconds, titleEnd, pages }
}

function lengthOf({ sound }: Speech): number {
  return (sound.channels[0]?.length ?? 0) / sound.sampleRate
}

function layOut(seconds: number, sampleRate: number, parts: readonly { speech: Speech; at: number }[]): Sound {
  const silence: Sound = { sampleRate, channels: [new Float32Array(Math.ceil(seconds * sampleRate))] }
  return mapChannels(silence, (samples) => {
    for (const { speech, at } of parts)
      samples.set(speech.sound.channels[0] ?? new Float32Array(0), Math.round(at * sampleRate))
    return samples
  })
}

/** Parts of about the same length, rather divided after punctuation than elsewhere. */
function divideSentence({ words }: SpokenSentence): Page[] {
  const length = words.reduce((sum, { text }) => sum + text.length + 1, 0)
  const count = Math.ceil(length / pageLength)
  const pages: Timed[][] = []
  let [page, size, left] = [[] as Timed[], 0, length]
  for (const word of words) {
    page.push(word)
    size += word.text.length + 1
    const goal = left / Math.max(1, count - pages.length)
    const stops = /[,;:–—]["”’)]*$/.test(word.text)
    if (pages.length < count - 1 && (size >= goal || (stops && size > goal * 0.6))) {
      pages.push(page)
      left -= size
      ;[page, size] = [[], 0]
    }
  }
  return page.length > 0 ? [...pages, page] : pages
}
