// Pitches, scales and chords. Pitches are MIDI numbers: 60 is middle C, 69 is 440 Hz.

/** A chord over a tonic: its root and its tones, in semitones; tones count from the root. */
export interface Chord {
  /** Above the tonic, 0 … 11. */
  readonly root: number
  readonly tones: readonly number[]
}

/** Scales in semitones above the tonic. */
export const scales = {
  major: [0, 2, 4, 5, 7, 9, 11],
  minor: [0, 2, 3, 5, 7, 8, 10],
  dorian: [0, 2, 3, 5, 7, 9, 10],
  lydian: [0, 2, 4, 6, 7, 9, 11],
  mixolydian: [0, 2, 4, 5, 7, 9, 10],
} as const satisfies Record<string, readonly number[]>

/** The name of a scale. */
export type ScaleName = keyof typeof scales

const numerals: Record<string, number> = { i: 0, ii: 2, iii: 4, iv: 5, v: 7, vi: 9, vii: 11 }
const extensions: Record<string, readonly number[]> = {
  '': [],
  6: [9],
  7: [10],
  9: [10, 14],
  maj7: [11],
  maj9: [11, 14],
  add9: [14],
  13: [10, 14, 21],
}

/** Frequency of a pitch, in Hz. */
export function toHertz(pitch: number): number {
  return 440 * 2 ** ((pitch - 69) / 12)
}

/**
 * Reads a chord as musicians write it: `I`, `vi7`, `bVII`, `IVmaj7`, `iiø7`, `Vsus4`. Capitals are major, `b` lowers the
 * root; all roots count from the major scale.
 */
export function parseChord(written: string): Chord {
  const match = /^(b?)([ivIV]+)(ø|sus4|sus2)?(.*)$/.exec(written)
  const [, flat, numeral = '', color = '', extension = ''] = match ?? []
  const base = numerals[numeral.toLowerCase()]
  const added = extensions[extension]
  if (base === undefined || !added) throw new Error(`No chord is written ${written}`)
  const third = numeral === numeral.toLowerCase() ? 3 : 4
  const triad = color === 'ø' ? [0, 3, 6] : color === 'sus4' ? [0, 5, 7] : color === 'sus2' ? [0, 2, 7] : [0, third, 7]
  return { root: (base - (flat ? 1 : 0) + 12) % 12, tones: [...triad, ...added] }
}

/** Pitch classes of a chord over a tonic. */
export function pitchClasses(chord: Chord, tonic: number): number[] {
  return chord.tones.map((tone) => (tonic + chord.root + tone) % 12)
}

/**
 * The chord's tones as pitches around `center`, close to those sounded before: each voice moves as little as it can.
 * @param before the voices of the chord before; none for a first chord
 */
export function voice(chord: Chord, tonic: number, center: number, before: readonly number[]): number[] {
  const classes = pitchClasses(chord, tonic)
  const middle = before.length === 0 ? center : 0.6 * center + 0.4 * average(before)
  const near = classes.map((pitchClass) => nearest(middle, (pitch) => pitch % 12 === pitchClass))
  const voices = [...new Set(near)].sort((a, b) => a - b)
  // Neighbours a semitone apart rub: the lower one goes up an octave.
  return voices.map((pitch, i) => ((voices[i + 1] ?? 999) - pitch === 1 ? pitch + 12 : pitch)).sort((a, b) => a - b)
}

/** The pitch nearest to `center` that will do. */
export function nearest(center: number, willDo: (pitch: number) => boolean): number {
  const start = Math.round(center)
  for (let distance = 0; distance < 12; distance++) {
    if (willDo(start - distance)) return start - distance
    if (willDo(start + distance)) return start + distance
  }
  return start
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
