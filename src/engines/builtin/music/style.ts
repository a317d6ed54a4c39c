// What a style says: what is played, how fast, on what, in what room. Patterns have four steps a beat; digits are loudness, 1 … 9.

import type { DrumName, KitName } from './drums.ts'
import type { InstrumentName } from './instruments.ts'
import type { ScaleName } from './theory.ts'

/** A harmony: four bars each, written over any tonic. */
export interface Harmony {
  readonly scale: ScaleName
  /** Progressions to choose from, chords with spaces between them; `a/b` are two in one bar. */
  readonly first: readonly string[]
  readonly second: readonly string[]
  /** The bar before the end, and the end. */
  readonly cadence: readonly [string, string]
}

/** How a part plays its notes. */
export interface PartStyle {
  readonly instrument: InstrumentName
  readonly level: number
  /** How much goes into the room. */
  readonly room: number
  /** Where it plays: pitch around which it lies. */
  readonly center: number
}

/** One line of a drum pattern: a bar of steps. */
export type Groove = Partial<Record<DrumName, string>>

/** A style of music. */
export interface Style {
  readonly bpm: readonly [number, number]
  readonly beats: 3 | 4
  /** Where the second of two falls, 0.5 … 0.67, and how long the two are together, in beats. */
  readonly swing: { readonly place: number; readonly beats: 0.5 | 1 }
  readonly bright: Harmony
  readonly dark: Harmony
  readonly pad: PartStyle | null
  readonly chords: PartStyle & {
    /** Strokes of a bar, as a pattern; or the chord's tones one by one. */
    readonly patterns: readonly string[]
    readonly arpeggio: boolean
    /** How long a stroke is held, in beats. */
    readonly hold: number
  }
  readonly bass: PartStyle & {
    /** r root, 5 fifth, 8 octave, w walks to the next chord; a bar of steps. */
    readonly patterns: readonly string[]
    readonly hold: number
  }
  readonly lead: PartStyle & {
    /** Rhythms of a motif: onsets in steps over two bars. */
    readonly rhythms: readonly string[]
    readonly hold: number
  }
  readonly drums: {
    readonly kit: KitName
    readonly level: number
    readonly calm: Groove
    readonly full: Groove
    readonly fill: Groove | null
  } | null
  readonly room: { readonly seconds: number; readonly darkness: number; readonly gain: number }
  /** Echo of the lead, in beats. */
  readonly echoBeats: number
  /** How far everything but the drums dips under the kick. */
  readonly duck: number
  readonly effect: 'none' | 'tape' | 'chorus'
  readonly drive: number
}
