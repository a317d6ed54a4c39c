// Motifs: rhythms with a melodic shape, and how they are developed: repeated, moved, inverted, shortened, closed.

import type { Random } from '../../art/random.ts'

/** A note of a motif. */
export interface MotifNote {
  /** Step of its two bars. */
  readonly step: number
  /** Until the next note. */
  readonly steps: number
  /** Height over the middle, in steps of the scale. */
  readonly height: number
  /** 0 … 1. */
  readonly velocity: number
}

/** A rhythm with a line, two bars long. */
export interface Motif {
  readonly notes: readonly MotifNote[]
  /** Steps of a bar. */
  readonly barSteps: number
}

/** What becomes of a motif in one bar of a phrase. */
export interface Turn {
  /** Which of its two bars. */
  readonly half: 0 | 1
  /** Steps of the scale by which it moves. */
  readonly shift: number
  readonly isInverted?: boolean
  /** Open ends on a tone that wants more, full on the tonic; both leave room to breathe. */
  readonly close?: 'open' | 'full'
}

// Four bars each: call and answer. The last bar of each is closed as its place demands.
const statements: readonly (readonly Turn[])[] = [
  [turn(0, 0), turn(1, 0), turn(0, 0), turn(1, -1)],
  [turn(0, 0), turn(1, 0), turn(0, -1), turn(1, -2)],
  [turn(0, 0), turn(0, 1), turn(1, 0), turn(0, -1)],
  [turn(0, 0), turn(0, -1), turn(0, -2), turn(1, 0)],
]
const answers: readonly (readonly Turn[])[] = [
  [turn(0, 0), turn(0, 1), turn(0, 2), turn(1, 0)],
  [turn(0, 0), turn(1, 0), turn(0, 0, true), turn(1, -1)],
  [turn(0, 2), turn(1, 1), turn(0, 0), turn(1, -2)],
]
const wanderings: readonly (readonly Turn[])[] = [
  [turn(0, 0, true), turn(0, -1, true), turn(0, 1, true), turn(1, 0)],
  [turn(1, 0), turn(1, 1), turn(1, 2), turn(0, 1)],
]

/** Plans for each kind of phrase, the tune, what answers it and what leads away; phrases take turns. */
export interface PhrasePlans {
  readonly verse: readonly (readonly Turn[])[]
  readonly chorus: readonly (readonly Turn[])[]
  readonly bridge: readonly (readonly Turn[])[]
}

/** Chooses how motifs are developed in a piece. */
export function choosePlans(random: Random): PhrasePlans {
  return { verse: random.shuffle(statements), chorus: random.shuffle(answers), bridge: random.shuffle(wanderings) }
}

const shapes: readonly ((x: number) => number)[] = [
  // An arch, a descent, an ascent, a wave, a turn about a note.
  (x) => 4 * Math.sin(Math.PI * x),
  (x) => 4 - 5 * x,
  (x) => -2 + 5 * x,
  (x) => 2.5 * Math.sin(2 * Math.PI * x),
  (x) => (x < 0.25 ? 0 : x < 0.5 ? 2 : x < 0.75 ? -1 : 1),
]

/** Invents a motif: the rhythm given, along a shape, mostly in steps. */
export function createMotif(random: Random, rhythm: string, barSteps: number): Motif {
  const onsets = [...rhythm].flatMap((sign, step) => (sign === '-' ? [] : [{ step, velocity: Number(sign) / 9 }]))
  const [first, second] = [random.pick(shapes), random.pick(shapes)]
  const size = random.range(0.8, 1.25)
  const notes = onsets.map(({ step, velocity }, i): MotifNote => {
    const x = (step % barSteps) / barSteps
    const shape = step < barSteps ? first : second
    const wobble = random.pick([-1, 0, 0, 1])
    return {
      step,
      steps: (onsets[i + 1]?.step ?? 2 * barSteps) - step,
      height: Math.round(size * shape(x)) + (i === 0 ? 0 : wobble),
      velocity,
    }
  })
  return { notes, barSteps }
}

/** The notes of one bar of a phrase; steps count from the bar. */
export function develop(motif: Motif, { half, shift, isInverted = false, close }: Turn): MotifNote[] {
  const { barSteps } = motif
  const from = half * barSteps
  const inBar = motif.notes.filter(({ step }) => step >= from && step < from + barSteps)
  const pivot = inBar[0]?.height ?? 0
  const moved = inBar.map((note): MotifNote => {
    const height = shift + (isInverted ? 2 * pivot - note.height : note.height)
    return { ...note, step: note.step - from, steps: Math.min(note.steps, barSteps - (note.step - from)), height }
  })
  return close ? closeNotes(moved, barSteps) : moved
}

/** The first half of a bar, and its last note held. */
function closeNotes(notes: readonly MotifNote[], barSteps: number): MotifNote[] {
  const kept = notes.filter(({ step }) => step <= barSteps / 2)
  const last = kept.at(-1) ?? notes[0]
  if (!last) return []
  const steps = Math.max(2, Math.min(barSteps - last.step, Math.ceil(barSteps * 0.5)))
  return [...kept.slice(0, -1), { ...last, steps }]
}

function turn(half: 0 | 1, shift: number, isInverted = false): Turn {
  return { half, shift, isInverted }
}
