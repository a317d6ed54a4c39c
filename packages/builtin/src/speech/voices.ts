// The voices: three people and an old machine that Flite knows, and others that are made from the people.

import { type Biquad, highPass, highShelf, lowShelf, peaking } from '../sound/filter.ts'
import { studioRate } from '../sound/sound.ts'

/** A voice that Flite has. */
export interface Model {
  readonly flite: string
  /** The middle of its pitch, in Hz. */
  readonly pitch: number
  /** Its deviation in Hz, when Flite lets both be chosen; null when it does not. */
  readonly spread: number | null
}

/** How a voice is made. */
export interface Voice {
  readonly model: Model
  /** The middle of its pitch, in Hz. */
  readonly pitch: number
  /** How far its pitch goes up and down, against the model's own. */
  readonly spread: number
  /** How its vocal tract compares with the model's: below 1 longer, so that all its resonances are lower. */
  readonly tract: number
  /** What it has above the band that Flite makes, against the top of that band, in decibels; null for nothing. */
  readonly air: number | null
  /** Without rumble, and nearer to the long-term average spectrum of speech (Byrne et al. 1994) than the model is. */
  readonly tone: readonly Biquad[]
}

// Found by fitting third octaves of what each model says to those of that spectrum, and stopping a little before.
const woman = [
  highPass(studioRate, 70),
  lowShelf(studioRate, 250, -6),
  peaking(studioRate, 3400, 3.5, 0.9),
  highShelf(studioRate, 5600, -4),
]
const man = [
  highPass(studioRate, 60),
  peaking(studioRate, 700, 5, 0.8),
  peaking(studioRate, 1600, 7, 0.8),
  peaking(studioRate, 3400, -4, 0.9),
  highShelf(studioRate, 5600, -6),
]
const scot = [
  highPass(studioRate, 60),
  lowShelf(studioRate, 250, -5),
  peaking(studioRate, 1600, 2, 0.8),
  peaking(studioRate, 3400, -5, 0.9),
  highShelf(studioRate, 5600, 13),
]
const robot = [highPass(studioRate, 50), peaking(studioRate, 700, -3, 0.8), peaking(studioRate, 1600, 3.5, 0.8)]

const slt: Model = { flite: 'slt', pitch: 172, spread: 27 }
const rms: Model = { flite: 'rms', pitch: 100, spread: null }
const awb: Model = { flite: 'awb', pitch: 132, spread: 25 }
const kal: Model = { flite: 'kal16', pitch: 95, spread: 11 }
const kal8: Model = { ...kal, flite: 'kal' }

// The pitch of slt and awb goes further up and down than Flite's own, which is half of what people do.
const voices = {
  slt: { model: slt, pitch: 176, spread: 1.7, tract: 1, air: 14, tone: woman },
  clara: { model: slt, pitch: 158, spread: 1.7, tract: 0.93, air: 14, tone: woman },
  ivy: { model: slt, pitch: 202, spread: 1.6, tract: 1.03, air: 14, tone: woman },
  rms: { model: rms, pitch: 100, spread: 1, tract: 1, air: 14, tone: man },
  hugo: { model: rms, pitch: 92, spread: 1, tract: 0.92, air: 14, tone: man },
  theo: { model: rms, pitch: 108, spread: 1, tract: 1.08, air: 14, tone: man },
  awb: { model: awb, pitch: 132, spread: 1.5, tract: 1, air: 11, tone: scot },
  ewan: { model: awb, pitch: 112, spread: 1.5, tract: 0.93, air: 11, tone: scot },
  kal: { model: kal, pitch: 95, spread: 1.25, tract: 1, air: null, tone: robot },
  kal8: { model: kal8, pitch: 95, spread: 1.25, tract: 1, air: null, tone: robot },
} as const satisfies Record<string, Voice>

/** The name of a voice. */
export type VoiceName = keyof typeof voices

/** Every voice there is. */
export const voiceNames = Object.keys(voices) as readonly VoiceName[]

/** The voice of that name. */
export function voiceOf(name: VoiceName): Voice {
  return voices[name]
}
