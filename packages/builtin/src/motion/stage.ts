// What a style of motion graphics is given, and what it gives back.

import type { SKRSContext2D } from '@napi-rs/canvas'
import type { Stage } from '../art/stage.ts'

/** Everything that a style may use. Lengths follow from `unit`, so that a film looks alike at every size. */
export interface MotionStage extends Omit<Stage, 'context'> {
  /** Length of the film. */
  readonly seconds: number
  /** The words, fit to be set. */
  readonly words: string
}

/** Draws the moment `phase`, 0 … 1, of the film; most films begin again after it without a seam. */
export type Scene = (context: SKRSContext2D, phase: number) => void

/** A kind of motion graphics. */
export type MotionStyle = (stage: MotionStage) => Scene

export const turn = 2 * Math.PI

/** How often something happens in the whole film, a whole number, when once should take about `seconds`. */
export function cycles(stage: MotionStage, seconds: number): number {
  return Math.max(1, Math.round(stage.seconds / seconds))
}

/** The part of a number behind its point, of negative ones too. */
export function fraction(value: number): number {
  return value - Math.floor(value)
}
