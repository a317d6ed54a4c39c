// Pitches, scales and chords. Pitches are MIDI numbers: 60 is middle C, 69 is 440 Hz. Pitch classes are 0 … 11, C is 0.

/** A chord over a tonic: its root and its tones, in semitones; tones count from the root. */
export interface Chord {
  /** Above the tonic, 0 … 11. */
  readonly root: number
  readonly tones: readonly number[]
}

/** A chord in a key, as it sounds. */
export interface Harmony {
  readonly chord: Chord
  /** Pitch class of the key. */
  readonly tonic: number
  readonly scale: ScaleName
}

/** Scales in semitones above the tonic. */
export const scales = {
  major: [0, 2, 4, 5, 7, 9, 11],
  minor: [0, 2, 3, 5, 7, 8, 10],
  dorian: [0, 2, 3, 5, 7, 9, 10],
  phrygian: [0, 1, 3, 5, 7, 8, 10],
  lydian: [0, 2, 4, 6, 7, 9, 11],
  mixolydian: [0, 2, 4, 5, 7, 9, 10],
} as const satisfies Record<string, readonly number[]>

/** The name of a scale. */
export type ScaleName = keyof typeof scales

const numerals: Record<string, number> = { i: 0, ii: 2, iii: 4, iv: 5, v: 7, vi: 9, vii: 11 }
const triads: Record<string, readonly number[]> = { o: [0, 3, 6], ø: [0, 3, 6], '+': [0, 4, 8] }
const suspended: Record<string, readonly number[]> = { sus2: [0, 2, 7], sus4: [0, 5, 7] }
const extensions: Record<string, readonly number[]> = {
  '': [],
  5: [],
  6: [9],
  69: [9, 14],
  7: [10],
  '7b9': [10, 13],
  '7#9': [10, 15],
  9: [10, 14],
  11: [10, 14, 17],
  13: [10, 14, 21],
  maj7: [11],
  maj9: [11, 14],
  add9: [14],
}

/** Frequency of a pitch, in Hz. */
export function toHertz(pitch: number): number {
  return 440 * 2 ** ((pitch - 69) / 12)
}

/** The pitch class of a pitch, or of a distance from C. */
export function toClass(pitch: number): number {
  return ((pitch % 12) + 12) % 12
}

/**
 * Reads a chord as musicians write it: `I`, `vi7`, `bVII`, `IVmaj7`, `iiø7`, `viio7`, `Vsus4`, and `V7/ii`, the dominant of
 * the second degree. Capitals are major; `b` and `#` move the root; roots count from the major scale.
 * @throws Error when nothing is written so
 */
export function parseChord(written: string): Chord {
  const match = /^([b#]?)([ivIV]+)([oø+]?)(maj7|maj9|add9|69|7b9|7#9|5|6|7|9|11|13)?(sus2|sus4)?(?:\/(.+))?$/.exec(
    written,
  )
  const [, accidental = '', numeral = '', quality = '', extension = '', sus, target] = match ?? []
  const base = numerals[numeral.toLowerCase()]
  const added = quality === 'o' && extension === '7' ? [9] : extensions[extension]
  if (base === undefined || !added) throw new Error(`No chord is written ${written}`)
  const third = numeral === numeral.toLowerCase() ? 3 : 4
  const plain = extension === '5' ? [0, 7] : [0, third, 7]
  const tones = (sus ? suspended[sus] : undefined) ?? triads[quality] ?? plain
  const shift = accidental === 'b' ? -1 : accidental === '#' ? 1 : 0
  return { root: toClass(base + shift + (target ? parseChord(target).root : 0)), tones: [...tones, ...added] }
}

/** The pitch class of a chord's root. */
export function rootOf({ chord, tonic }: Harmony): number {
  return toClass(tonic + chord.root)
}

/** Pitch classes of a chord, the root first. */
export function classesOf(harmony: Harmony): number[] {
  return harmony.chord.tones.map((tone) => toClass(rootOf(harmony) + tone))
}

/** Pitch classes to sing over a chord: the key's scale, with what the chord alters in place of what it rubs against. */
export function scaleOver(harmony: Harmony): number[] {
  const chord = classesOf(harmony)
  const scale = scales[harmony.scale].map((tone) => toClass(tone + harmony.tonic))
  const altered = chord.filter((tone) => !scale.includes(tone))
  const kept = scale.filter((tone) => chord.includes(tone) || altered.every((other) => distance(tone, other) > 1))
  return [...new Set([...kept, ...chord])]
}

/** Semitones between two pitch classes, the short way round. */
export function distance(a: number, b: number): number {
  const up = toClass(a - b)
  return Math.min(up, 12 - up)
}

/** The pitch of a pitch class that is nearest to `center`; of two as near, the lower. */
export function nearest(center: number, pitchClass: number): number {
  const lowest = Math.ceil(center - 6)
  return lowest + toClass(pitchClass - lowest)
}
