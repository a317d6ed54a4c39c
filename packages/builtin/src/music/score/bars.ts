// Bars: the sections of a piece with their chords, ready to be played.

import type { Random } from '../../art/random.ts'
import type { Progressions } from '../style.ts'
import { phraseBars, type Section } from './form.ts'
import { type Chord, type Harmony, parseChord, toClass } from './theory.ts'

/** A chord and when it sounds. */
export interface Slot extends Harmony {
  /** From the beginning of the piece. */
  readonly beat: number
  readonly beats: number
}

/** A bar of a piece. */
export interface Bar {
  readonly section: Section
  /** Within its section. */
  readonly index: number
  /** From the beginning of the piece. */
  readonly number: number
  readonly beat: number
  readonly beats: number
  readonly energy: number
  readonly slots: readonly Slot[]
}

export interface BarsOptions {
  readonly sections: readonly Section[]
  readonly progressions: Progressions
  /** Pitch class of the key. */
  readonly tonic: number
  /** Beats of a bar. */
  readonly beats: number
  readonly random: Random
}

/** Whether a part plays in a bar; all parts play the ending. */
export function plays(
  { energy: [least, most] = [0, 1] }: { readonly energy?: readonly [number, number] },
  bar: Bar,
): boolean {
  return bar.section.kind === 'ending' || (bar.energy >= least - 1e-9 && bar.energy <= most + 1e-9)
}

type Line = readonly (readonly Chord[])[]

/** Reads a progression: bars with spaces between them, chords that share a bar with commas. */
export function readLine(written: string): Line {
  return written.split(' ').map((bar) => bar.split(',').map(parseChord))
}

/** Writes the chords of a piece, an ending of two bars included; before a section in a higher key comes its dominant. */
export function writeBars({ sections, progressions, tonic, beats, random }: BarsOptions): Bar[] {
  const [verse, chorus, bridge] = [progressions.verse, progressions.chorus, progressions.bridge].map((lines) =>
    readLine(random.pick(lines)),
  ) as [Line, Line, Line]
  const cadence = progressions.cadence.flatMap(readLine)
  const played = new Map<Line, number>()
  let number = 0
  return sections.flatMap((section, s) => {
    const { kind } = section
    const line =
      kind === 'ending' ? cadence : kind === 'bridge' ? bridge : kind === 'chorus' || kind === 'build' ? chorus : verse
    // Longer lines go on where they were left, unless the section is new in this key.
    const first = line.length > phraseBars ? (played.get(line) ?? 0) : 0
    played.set(line, first + section.bars)
    const next = sections[s + 1]
    return Array.from({ length: section.bars }, (_, index): Bar => {
      // A piece of two bars still has all of its line: its chords share bars.
      const isShort = section.bars < phraseBars && (kind === 'verse' || kind === 'chorus')
      const share = isShort ? Math.floor(phraseBars / section.bars) : 1
      const at = kind === 'intro' ? introBar(index, section.bars, line.length) : first + index * share
      const chords = Array.from({ length: share }, (_, i) => line[(at + i) % line.length] as readonly Chord[]).flat()
      const key = toClass(tonic + section.lift)
      const rises = next && next.lift !== section.lift && index === section.bars - 1
      const harmonies: Harmony[] = chords.map((chord) => ({ chord, tonic: key, scale: progressions.scale }))
      if (rises)
        harmonies.splice(1, Infinity, {
          ...(harmonies[0] as Harmony),
          chord: parseChord('V7'),
          tonic: toClass(tonic + next.lift),
        })
      const beat = number * beats
      return {
        section,
        index,
        number: number++,
        beat,
        beats,
        energy: kind === 'build' ? section.energy + (0.35 * index) / section.bars : section.energy,
        slots: harmonies.map((harmony, i) => ({
          ...harmony,
          beat: beat + (i * beats) / harmonies.length,
          beats: beats / harmonies.length,
        })),
      }
    })
  })
}

/** An introduction of a bar or two has the end of the line, which leads to its beginning. */
function introBar(index: number, bars: number, length: number): number {
  return index + ((length - (bars % length)) % length)
}
