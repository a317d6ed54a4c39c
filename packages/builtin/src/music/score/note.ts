// What a score is made of, in beats: notes, and strokes on drums.

import type { DrumName } from '../band/kits.ts'

/** A note. */
export interface ScoreNote {
  /** From the beginning of the piece. */
  readonly beat: number
  readonly beats: number
  readonly pitch: number
  /** 0 … 1. */
  readonly velocity: number
  /** Seconds by which it comes later than its beat: strings of a strum. */
  readonly delay?: number
}

/** A stroke on a drum. */
export interface ScoreStroke {
  readonly drum: DrumName
  readonly beat: number
  /** 0 … 1. */
  readonly velocity: number
}

/** Steps of patterns to a beat. */
export const stepsPerBeat = 4

/** What a pattern says for one step. */
export interface Sign {
  /** From the beginning of the bar. */
  readonly step: number
  readonly sign: string
}

/** The signs of one bar of a pattern, which may be longer than a bar: then bars take turns. Rests are left out. */
export function readPattern(pattern: string, barNumber: number, barSteps: number): Sign[] {
  const bars = Math.max(1, Math.floor(pattern.length / barSteps))
  const from = (barNumber % bars) * barSteps
  const bar = Array.from(pattern.slice(from, from + barSteps))
  return bar.flatMap((sign, step) => (sign === '-' ? [] : [{ step, sign }]))
}

/** Loudness of a digit, 0 … 1. */
export function loudnessOf(sign: string): number {
  return Number(sign) / 9
}
