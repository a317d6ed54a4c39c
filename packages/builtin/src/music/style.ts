// What a style says: what is played, how fast, by whom, in what room.
// Patterns have four steps a beat, `-` is a rest, digits are loudness, 1 … 9.

import type { InstrumentName } from './band/instruments.ts'
import type { DrumName, KitName } from './band/kits.ts'
import type { FormName } from './score/form.ts'
import type { ScaleName } from './score/theory.ts'

/** Progressions over any tonic: bars with spaces between them, chords that share a bar with commas. */
export interface Progressions {
  readonly scale: ScaleName
  /** For the tune, for what answers it, and for what leads away from both. A piece chooses one of each. */
  readonly verse: readonly string[]
  readonly chorus: readonly string[]
  readonly bridge: readonly string[]
  /** The bar before the last chord, and the last chord. */
  readonly cadence: readonly [string, string]
}

/** Somebody in the band. */
interface Player {
  readonly instrument: InstrumentName
  /** Loudness against the loudest part, in dB; zero is the loudest. */
  readonly level: number
  /** Pitch around which it plays. */
  readonly center: number
  /** -1 is left, 1 right. */
  readonly pan?: number
  /** How far its notes are spread over the sides, 0 … 1. */
  readonly width?: number
  /** How much goes into the room and into the echo, 0 … 1. */
  readonly room?: number
  readonly echo?: number
  /** The energies at which it plays, least and most. */
  readonly energy?: readonly [number, number]
  /** Seconds behind the beat; ahead of it when negative. */
  readonly late?: number
  readonly effect?: 'chorus' | 'tremolo' | 'drive'
}

/** Holds chords. */
export interface PadPlayer extends Player {
  readonly role: 'pad'
  readonly voices?: number
}

/** Strikes chords, or lets their notes run. */
export interface CompPlayer extends Player {
  readonly role: 'comp'
  /** Strokes of a bar or two, to choose from: one for verses, another for choruses. `x` is a damped stroke. */
  readonly patterns: readonly string[]
  /** Block: together. Strum: string by string, up on off-beats. The others: note by note. */
  readonly manner: 'block' | 'strum' | 'up' | 'upDown' | 'alberti'
  /** How long a stroke is held, in beats. */
  readonly hold: number
  readonly voices?: number
  /** Whether the root is left to the bass. */
  readonly isRootless?: boolean
}

/** Plays the lowest line. */
export interface BassPlayer extends Player {
  readonly role: 'bass'
  /**
   * A bar or two of steps: r root, 3 third, 5 fifth, 7 seventh (or sixth), 8 octave, a leads to the next root,
   * w walks there, x is a damped note. Capitals are loud.
   */
  readonly patterns: readonly string[]
  /** How long a note is held at the most, in beats. */
  readonly hold: number
}

/** Plays the tune. */
export interface LeadPlayer extends Player {
  readonly role: 'lead'
  /** Rhythms of a motif: onsets over two bars. */
  readonly rhythms: readonly string[]
  readonly hold: number
  /** Whether it also plays in introductions and breaks. */
  readonly isAlways?: boolean
}

/** Answers the tune where it rests. */
export interface AnswerPlayer extends Player {
  readonly role: 'answer'
  readonly hold: number
}

/** A part of a style. */
export type PartStyle = PadPlayer | CompPlayer | BassPlayer | LeadPlayer | AnswerPlayer

/** Lines of a drum pattern, a bar or two of steps each. */
export type Groove = Partial<Record<DrumName, string>>

/** A style of music. */
export interface Style {
  /** Beats a minute, slowest and fastest. */
  readonly bpm: readonly [number, number]
  readonly beats: 3 | 4
  /** Where the second of two falls, 0.5 … 0.67, and how long the two are together, in beats. */
  readonly swing: { readonly place: number; readonly beats: 0.5 | 1 }
  readonly form: FormName
  readonly bright: Progressions
  readonly dark: Progressions
  readonly parts: readonly PartStyle[]
  readonly drums: {
    readonly kit: KitName
    readonly level: number
    readonly room: number
    /** For introductions and breaks, for verses, for choruses. */
    readonly calm: Groove
    readonly verse: Groove
    readonly chorus: Groove
    /** What ends a phrase: it takes the place of the last steps of a bar. The longer ones end sections. */
    readonly fills: readonly Groove[]
    /** Whether a cymbal begins sections. */
    readonly hasCrash: boolean
  } | null
  /** How people play: seconds and loudness by which a note is off, and by how much the last bars slow down, 0 … 0.5. */
  readonly feel: { readonly seconds: number; readonly loudness: number; readonly slowing: number }
  /** Semitones by which the last chorus of a long piece may rise. */
  readonly lift: 0 | 1 | 2
  readonly room: { readonly seconds: number; readonly darkness: number; readonly gain: number }
  readonly echo: { readonly beats: number; readonly feedback: number }
  /** How far everything but the drums dips under the kick. */
  readonly duck: number
  readonly isTape: boolean
  readonly drive: number
}
