// Jingles: what fits into a second or a few. A small figure, the chords that lead home, and home.

import type { Random } from '../../art/random.ts'
import type { LeadPlayer, PartStyle, Style } from '../style.ts'
import type { Progressions } from '../style.ts'
import { type Bar, readLine, type Slot } from './bars.ts'
import { writeBass } from './bass-line.ts'
import { writeComp, writePad } from './chords.ts'
import type { Section } from './form.ts'
import { sing, type Wish } from './melody.ts'
import { type ScoreNote, type ScoreStroke, stepsPerBeat } from './note.ts'
import { nearest } from './theory.ts'

/** The grid of a jingle: steps of so many seconds before the last chord. */
export interface JingleGrid {
  readonly steps: number
  readonly stepSeconds: number
}

const section: Section = { kind: 'ending', bars: 2, turn: 0, energy: 0.8, lift: 0 }
const longestStep = 0.2
const mostSteps = 24
// Rhythms of four steps: how long each note is.
const cells: readonly (readonly number[])[] = [
  [2, 1, 1],
  [3, 1],
  [2, 2],
  [1, 1, 2],
  [1, 2, 1],
]

/**
 * Divides beats until a figure fits before the last chord.
 * @param isFree whether the tempo may change so that no time is left over
 */
export function chooseGrid(bpm: number, duration: number, isFree: boolean): JingleGrid {
  const tail = Math.min(2.4, Math.max(0.45, 0.45 * duration))
  const room = duration - tail
  let step = 60 / bpm / 2
  while (step > longestStep) step /= 2
  const steps = Math.min(mostSteps, Math.max(1, Math.floor(room / step)))
  return { steps, stepSeconds: isFree ? Math.min(longestStep, room / steps) : step }
}

/** Writes a jingle; its beats have four steps of the grid. */
export function writeJingle(
  style: Style,
  progressions: Progressions,
  tonic: number,
  { steps }: JingleGrid,
  random: Random,
): { bars: Bar[]; notes: ScoreNote[][]; strokes: ScoreStroke[] } {
  const bars = writeBars(progressions, tonic, steps)
  const [figure, end] = bars as [Bar, Bar]
  const starts = new Set(figure.slots.map(({ beat }) => Math.round(beat * stepsPerBeat)))
  const pattern = (sign: string): string =>
    Array.from({ length: steps }, (_, step) => (starts.has(step) ? sign : '-')).join('')
  const play = (part: PartStyle): ScoreNote[] => {
    if (part.role === 'pad') return writePad(part, bars)
    if (part.role === 'comp') return writeComp({ ...part, manner: 'block', patterns: [pattern('7')] }, bars)
    if (part.role === 'bass') return writeBass({ ...part, patterns: [pattern('r')] }, bars)
    return part.role === 'lead' ? writeFigure(part, figure, end, random) : []
  }
  return { bars, notes: style.parts.map(play), strokes: writeStrokes(style, figure, end, random) }
}

function writeBars(progressions: Progressions, tonic: number, steps: number): Bar[] {
  const [cadence, last] = progressions.cadence
  const opening = readLine(progressions.verse[0] as string)[0]?.[0]
  const leading = readLine(cadence).flat()
  const all = opening ? [opening, ...leading] : leading
  // Three steps a chord at least; the last ones lead home.
  const chords = all.slice(-Math.max(1, Math.floor(steps / 3)))
  const each = Math.max(1, Math.floor(steps / chords.length))
  const slots = chords.map((chord, i): Slot => {
    // What does not divide is the first chord's.
    const from = i === 0 ? 0 : steps - (chords.length - i) * each
    const to = steps - (chords.length - i - 1) * each
    return { chord, tonic, scale: progressions.scale, beat: from / stepsPerBeat, beats: (to - from) / stepsPerBeat }
  })
  const beats = steps / stepsPerBeat
  const home: Slot = {
    chord: readLine(last)[0]?.[0] as Slot['chord'],
    tonic,
    scale: progressions.scale,
    beat: beats,
    beats: stepsPerBeat,
  }
  return [
    { section, index: 0, number: 0, beat: 0, beats, energy: section.energy, slots },
    { section, index: 1, number: 1, beat: beats, beats: stepsPerBeat, energy: section.energy, slots: [home] },
  ]
}

/** One rhythm, again on another height, and the last note on the tonic. */
function writeFigure(player: LeadPlayer, figure: Bar, end: Bar, random: Random): ScoreNote[] {
  const steps = Math.round(figure.beats * stepsPerBeat)
  const cell = random.pick(cells)
  const onsets: number[] = []
  for (let from = steps % 4; from < steps; from += 4) {
    let at = from
    for (const length of cell) {
      onsets.push(at)
      at += length
    }
  }
  for (let step = 0; step < steps % 4; step += 2) onsets.push(step)
  onsets.sort((a, b) => a - b)
  const home = nearest(player.center, figure.slots[0]?.tonic ?? 0)
  const rise = random.pick([-9, -7, 7, 9, 4])
  const wishes = onsets.map((step, i): Wish => {
    const beat = step / stepsPerBeat
    const slot = figure.slots.findLast((one) => one.beat <= beat + 1e-6) as Slot
    const until = (onsets[i + 1] ?? steps) - step
    const way = step / steps
    return {
      beat,
      beats: until / stepsPerBeat,
      pitch: home + rise * (1 - way) * (i % 2 === 0 ? 1 : 0.7),
      velocity: 0.65 + 0.2 * way,
      slot,
      isStrong: step % 4 === steps % 4,
    }
  })
  const last = { beat: end.beat, beats: end.beats, pitch: home, velocity: 0.9 }
  return [...sing(wishes, home), last]
}

/** A light beat under each chord, the end of a fill, and a stroke on the last chord. */
function writeStrokes({ drums }: Style, figure: Bar, end: Bar, random: Random): ScoreStroke[] {
  if (!drums) return []
  const steps = Math.round(figure.beats * stepsPerBeat)
  const fill = drums.fills.length > 0 ? random.pick(drums.fills) : {}
  const filled = Object.entries(fill).flatMap(([drum, line]) => {
    const signs = [...line].slice(-Math.min(4, Math.floor(steps / 2)))
    return signs.flatMap((sign, i) =>
      sign === '-'
        ? []
        : [{ drum, beat: end.beat - (signs.length - i) / stepsPerBeat, velocity: Number(sign) / 9 } as ScoreStroke],
    )
  })
  const beats = figure.slots.map(({ beat }): ScoreStroke => ({ drum: 'kick', beat, velocity: 0.6 }))
  const last: ScoreStroke = { drum: 'kick', beat: end.beat, velocity: 0.85 }
  return [...beats, ...filled, last, ...(drums.hasCrash ? [{ ...last, drum: 'crash', velocity: 0.6 } as const] : [])]
}
