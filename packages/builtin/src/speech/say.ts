// One sentence in one voice: Flite speaks it, and what Flite cannot do is done to its sound.

import { bendPitch } from './bend.ts'
import { utter, type Utterance } from './flite.ts'
import type { Prosody } from './prosody.ts'
import type { Voice } from './voices.ts'

/** What a request asks of a voice. */
export interface Wish {
  /** 1 is the voice's own; 0.5 … 2. */
  readonly speed: number
  /** Semitones above the voice's own pitch; -6 … 6. Default: 0. */
  readonly pitch?: number
  /** How far the pitch goes up and down: 0 is one note, 1 is reading aloud, 2 is telling stories to children. Default: 1. */
  readonly expression?: number
}

// A question rises by so many semitones, above the fall that Flite gives it, during its last moments.
const [riseSemitones, riseSeconds] = [7, 0.42]
// How far a pitch is looked for around the middle.
const [lowest, highest] = [0.5, 1.9]

/** Says words that are ASCII and expanded. */
export function say(words: string, voice: Voice, prosody: Prosody, wish: Wish): Utterance {
  const { model, tract } = voice
  const { expression = 1, pitch = 0 } = wish
  // Another vocal tract is another sample rate: a sound that will be played faster is first spoken slower and lower.
  const speed = (wish.speed * prosody.speed) / tract
  const middle = (voice.pitch * 2 ** (pitch / 12) * prosody.pitch) / tract / model.pitch
  const spread = voice.spread * prosody.spread * expression
  const { sound, runs } = utter(words, model, { speed, pitch: middle, spread })
  const end = runs.at(-1)?.end ?? 0
  const rise = (seconds: number): number => {
    const share = Math.min(1, Math.max(0, 1 - (end - seconds) / (riseSeconds * tract)))
    return prosody.rises ? 2 ** ((riseSemitones * Math.min(1.5, expression) * share ** 1.5) / 12) : 1
  }
  const [isBent, heard] = [model.spread === null, model.pitch * (model.spread === null ? 1 : middle)]
  const bend = (seconds: number, hertz: number): number =>
    rise(seconds) * (isBent ? middle * (hertz / model.pitch) ** (spread - 1) : 1)
  const needsBend =
    (prosody.rises && expression > 0) || (isBent && (Math.abs(middle - 1) > 1e-3 || Math.abs(spread - 1) > 1e-3))
  const bent = needsBend ? bendPitch(sound, [lowest * heard, highest * heard], bend) : sound
  return {
    sound: { ...bent, sampleRate: Math.round(bent.sampleRate * tract) },
    runs: runs.map((run) => ({ start: run.start / tract, end: run.end / tract })),
  }
}
