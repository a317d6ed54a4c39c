// Speech with its times: what is said from when to when, so that captions can follow the voice.

import { EngineError } from '@mediagen/engine/engine.ts'
import { applyFilters } from '../sound/filter.ts'
import { master } from '../sound/master.ts'
import { resample } from '../sound/resample.ts'
import { type Sound, studioRate } from '../sound/sound.ts'
import { addAir } from './air.ts'
import { shapeSentence } from './prosody.ts'
import { say, type Wish } from './say.ts'
import { splitSentences } from './sentences.ts'
import { requireSpeakable, toSpoken } from './spoken.ts'
import { type Voice, type VoiceName, voiceOf } from './voices.ts'

/** Text and when it is heard, in seconds from the beginning of the sound. */
export interface Timed {
  readonly text: string
  readonly start: number
  readonly end: number
}

/** A sentence as it is written, with exact times; those of its words are estimated between the pauses that the voice makes. */
export interface SpokenSentence extends Timed {
  readonly words: readonly Timed[]
}

/** A spoken text. */
export interface Speech {
  /** Mono, 48 kHz, at -16 LUFS. */
  readonly sound: Sound
  readonly sentences: readonly SpokenSentence[]
}

export interface SpeakOptions extends Wish {
  readonly voice: VoiceName
  /** Name of the field that the text came from, for the words of a refusal. Default: text. */
  readonly field?: string
  /** What takes longer is refused. Default: 20 minutes. */
  readonly mostSeconds?: number
  /** Told after each sentence, 0 … 1. */
  readonly onProgress?: (fraction: number) => void
}

const loudness = -16
const ceiling = -1.5
const leadSeconds = 0.15
const tailSeconds = 0.35
// Samples are held in memory. The longest text at the lowest speed takes less, unless it consists of signs and numbers.
const defaultMostSeconds = 1200
// What is kept of Flite's silence around a sentence, so that no consonant is cut.
const marginSeconds = 0.03
const fadeSeconds = 0.008

/**
 * Speaks English. The same text gives the same sound.
 * @throws EngineError `invalid_input` when the text has characters that no voice can say, or no word at all, or takes too long
 */
export async function speak(text: string, options: SpeakOptions): Promise<Speech> {
  const { speed, field = 'text', mostSeconds = defaultMostSeconds, onProgress = () => {} } = options
  requireSpeakable(field, text)
  const voice = voiceOf(options.voice)
  const pieces = splitSentences(text).map((piece) => ({ ...piece, spoken: toSpoken(piece.text) }))
  const said = pieces.filter(({ spoken }) => spoken !== '')
  const parts: { samples: Float32Array; at: number }[] = []
  const sentences: SpokenSentence[] = []
  let at = Math.round(leadSeconds * studioRate)
  for (const [i, piece] of said.entries()) {
    const utterance = say(piece.spoken, voice, shapeSentence(piece), options)
    const start = Math.max(0, (utterance.runs[0]?.start ?? 0) - marginSeconds)
    const { sampleRate, channels } = utterance.sound
    const end = Math.min((channels[0]?.length ?? 0) / sampleRate, (utterance.runs.at(-1)?.end ?? 0) + 2 * marginSeconds)
    const samples = finish(utterance.sound, voice, start, end)
    parts.push({ samples, at })
    const offset = at / studioRate - start
    const runs = utterance.runs.map((run) => ({ start: run.start + offset, end: run.end + offset }))
    sentences.push({
      text: piece.text,
      start: runs[0]?.start ?? offset,
      end: runs.at(-1)?.end ?? offset,
      words: timeWords(piece.text, runs),
    })
    at += samples.length + (i < said.length - 1 ? Math.round((piece.restSeconds / speed) * studioRate) : 0)
    if (at > mostSeconds * studioRate) throw tooLong(field, mostSeconds)
    onProgress((i + 1) / said.length)
    await new Promise(setImmediate)
  }
  const samples = new Float32Array(at + Math.round(tailSeconds * studioRate))
  // Released one by one, because the parts together are as large as the whole.
  for (let part = parts.pop(); part; part = parts.pop()) samples.set(part.samples, part.at)
  const sound: Sound = { sampleRate: studioRate, channels: [samples] }
  master(sound, { loudness, ceiling })
  return { sound, sentences }
}

function tooLong(field: string, mostSeconds: number): EngineError {
  const words = `${field} takes more than ${mostSeconds} s to say: signs and numbers are said in full.`
  return new EngineError('invalid_input', `${words} Shorten it, or raise the speed.`)
}

/** Cuts out what is between two times, in seconds, and gives it its tone. */
function finish(sound: Sound, voice: Voice, start: number, end: number): Float32Array {
  const [from, to] = [start, end].map((seconds) => Math.round(seconds * sound.sampleRate))
  const cut = { ...sound, channels: sound.channels.map((samples) => samples.subarray(from, to)) }
  const [samples = new Float32Array(0)] = resample(cut, studioRate).channels
  if (voice.air !== null) addAir(samples, sound.sampleRate / 2, voice.air)
  const finished = applyFilters(samples, voice.tone)
  const fade = Math.round(fadeSeconds * studioRate)
  for (let i = 0; i < Math.min(fade, finished.length); i++) {
    const gain = 0.5 - 0.5 * Math.cos((Math.PI * i) / fade)
    finished[i] = (finished[i] as number) * gain
    const last = finished.length - 1 - i
    finished[last] = (finished[last] as number) * gain
  }
  return finished
}

/** Spreads the words over the runs of a sentence by their letters; where pauses and punctuation agree, clause by clause. */
function timeWords(text: string, runs: readonly { start: number; end: number }[]): Timed[] {
  const words = text.split(/\s+/).filter((word) => word !== '')
  const clauses = toClauses(words)
  if (clauses.length === runs.length) return clauses.flatMap((clause, i) => spread(clause, runs.slice(i, i + 1)))
  return spread(words, runs)
}

function toClauses(words: readonly string[]): string[][] {
  const clauses: string[][] = [[]]
  for (const [i, word] of words.entries()) {
    clauses.at(-1)?.push(word)
    if (/[,;:!?–—]["”’)]*$/.test(word) && i < words.length - 1) clauses.push([])
  }
  return clauses
}

function spread(words: readonly string[], runs: readonly { start: number; end: number }[]): Timed[] {
  const total = runs.reduce((sum, { start, end }) => sum + end - start, 0)
  const weights = words.map((word) => word.replace(/[^\p{L}\p{N}]/gu, '').length + 1)
  const all = weights.reduce((sum, weight) => sum + weight, 0)
  // From a share of the voiced time to a time of the sound.
  const toTime = (share: number, isEnd: boolean): number => {
    let left = share * total
    for (const { start, end } of runs) {
      const length = end - start
      if (left < length - 1e-6 || (isEnd && left <= length + 1e-6)) return start + left
      left -= length
    }
    return runs.at(-1)?.end ?? 0
  }
  let before = 0
  return words.map((text, i) => {
    const start = toTime(before / all, false)
    before += weights[i] as number
    return { text, start, end: toTime(before / all, true) }
  })
}
