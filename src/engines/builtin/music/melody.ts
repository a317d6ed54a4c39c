// Melodies: a motif of two bars that comes back, fitted to the harmony, answered and varied.

import type { Random } from '../art/random.ts'
import { type Chord, nearest, pitchClasses, type ScaleName, scales } from './theory.ts'

interface MotifNote {
  /** From the beginning of its two bars. */
  readonly step: number
  /** Until the next note, at most a bar. */
  readonly steps: number
  /** Height over the middle, in steps of the scale. */
  readonly height: number
  /** 0 … 1. */
  readonly velocity: number
}

/** A rhythm with a line, two bars long. */
export interface Motif {
  readonly notes: readonly MotifNote[]
}

/** A note of the melody within its bar. */
export interface MelodyNote {
  readonly step: number
  readonly steps: number
  readonly pitch: number
  readonly velocity: number
}

/** Where a motif is to be played. */
export interface MotifPlace {
  /** Bar of the phrase, 0 … 3. */
  readonly bar: number
  readonly barSteps: number
  readonly chords: readonly Chord[]
  readonly tonic: number
  readonly scale: ScaleName
  readonly center: number
  /** Whether it was heard before and should surprise a little. */
  readonly isVaried: boolean
  readonly random: Random
}

/** Invents a motif: mostly steps, a leap now and then that is made good by going back. */
export function createMotif(random: Random, rhythms: readonly string[], barSteps: number): Motif {
  const rhythm = random.pick(rhythms)
  const onsets = [...rhythm].flatMap((sign, step) => (sign === '-' ? [] : [{ step, velocity: Number(sign) / 9 }]))
  let [height, leap] = [random.pick([0, 2, 4, -1]), 0]
  const notes = onsets.map(({ step, velocity }, i) => {
    const note = { step, steps: Math.min(barSteps, (onsets[i + 1]?.step ?? 2 * barSteps) - step), height, velocity }
    const move: number = leap === 0 ? random.pick([-2, -1, -1, 1, 1, 2, 3, -3]) : -Math.sign(leap)
    leap = Math.abs(move) > 2 ? move : 0
    // Too high comes down, too low comes up.
    height += height + move > 6 || height + move < -4 ? -move : move
    return note
  })
  return { notes }
}

/** The notes of one bar of a phrase: call, answer, call again, and a close that rests. */
export function playMotif(motif: Motif, place: MotifPlace): MelodyNote[] {
  const { bar, barSteps, chords, tonic, scale, isVaried, random } = place
  const half = (bar % 2) * barSteps
  const classes = scales[scale].map((tone) => (tone + tonic) % 12)
  // The answer lies a third lower.
  const shift = bar >= 2 ? -2 : 0
  const isClose = bar % 4 === 3
  const inBar = motif.notes.filter(({ step }) => step >= half && step < half + barSteps)
  const kept = isClose ? inBar.slice(0, Math.max(1, Math.ceil(inBar.length / 2))) : inBar
  return kept.map((note, i) => {
    const step = note.step - half
    const chord = chords[Math.min(chords.length - 1, Math.floor((step / barSteps) * chords.length))] as Chord
    const sounding = pitchClasses(chord, tonic).slice(0, 4)
    // A root rubs against the major seventh below it.
    const tones = sounding.filter((tone) => !sounding.includes((tone + 11) % 12))
    const isLast = i === kept.length - 1
    const wobble = isVaried && !isLast && random.chance(0.3) ? random.pick([-1, 1]) : 0
    const wanted = place.center + (note.height + shift + wobble) * 1.75
    const isStrong = step % 8 === 0 || note.steps >= 6 || (isClose && isLast)
    const pitch = nearest(wanted, (candidate) =>
      isStrong ? tones.includes(candidate % 12) : isSmooth(candidate % 12, classes, tones),
    )
    const steps = isClose && isLast ? barSteps - step : Math.min(note.steps, barSteps + 4 - step)
    return { step, steps, pitch, velocity: note.velocity }
  })
}

/** In the scale, and no semitone above a tone of the chord, where it would rub. */
function isSmooth(pitchClass: number, classes: readonly number[], tones: readonly number[]): boolean {
  return tones.includes(pitchClass) || (classes.includes(pitchClass) && !tones.includes((pitchClass + 11) % 12))
}
