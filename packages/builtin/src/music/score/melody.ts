// Melodies: the pitches that come nearest to a line and sing best, found for a whole phrase at once.

import type { Slot } from './bars.ts'
import type { ScoreNote } from './note.ts'
import { classesOf, distance, scaleOver, toClass } from './theory.ts'

/** A note that the line asks for. */
export interface Wish {
  /** From the beginning of the piece. */
  readonly beat: number
  readonly beats: number
  /** About where it lies, as a pitch; need not be whole. */
  readonly pitch: number
  readonly velocity: number
  /** What sounds below it. */
  readonly slot: Slot
  /** Only a tone of the chord will do. */
  readonly isStrong: boolean
  /** Whether it must come home, or must not. */
  readonly close?: 'open' | 'full'
}

// What a step from one pitch to the next costs, by its size in semitones.
const leaps = [0.8, 0, 0, 0.4, 0.5, 1.1, 4, 1.3, 2.4, 2.6, 6, 7, 2.6]
const reach = 9

/**
 * The cheapest way through all notes: near the line, in the scale of each chord, chord tones on strong beats, small steps,
 * in the direction asked.
 * @param last the pitch that was sung before, to go on from; none at the beginning
 */
export function sing(wishes: readonly Wish[], center: number, last?: number): ScoreNote[] {
  const columns = wishes.map((wish) => candidates(wish, center))
  const costs: number[][] = []
  const ways: number[][] = []
  for (const [i, column] of columns.entries()) {
    const wish = wishes[i] as Wish
    const before = wishes[i - 1]
    costs.push([])
    ways.push([])
    for (const { pitch, cost } of column) {
      let [least, way] = [i > 0 ? Infinity : last === undefined ? 0 : 0.7 * step(last, pitch, 0), 0]
      for (const [j, { pitch: from }] of (columns[i - 1] ?? []).entries()) {
        const total = ((costs[i - 1] as number[])[j] as number) + step(from, pitch, wish.pitch - (before as Wish).pitch)
        if (total < least) [least, way] = [total, j]
      }
      costs[i]?.push(least + cost)
      ways[i]?.push(way)
    }
  }
  const pitches: number[] = []
  let at = indexOfLeast(costs.at(-1) ?? [])
  for (let i = columns.length - 1; i >= 0; i--) {
    const column = columns[i] as readonly Candidate[]
    pitches.unshift((column[at] as Candidate).pitch)
    at = ways[i]?.[at] ?? 0
  }
  return wishes.map(({ beat, beats, velocity }, i) => ({ beat, beats, velocity, pitch: pitches[i] as number }))
}

interface Candidate {
  readonly pitch: number
  readonly cost: number
}

function candidates(wish: Wish, center: number): Candidate[] {
  const { slot, isStrong, close, beats } = wish
  const chord = classesOf(slot).slice(0, 4)
  // A root rubs against the major seventh below it.
  const stable = new Set(chord.filter((tone) => !chord.some((other) => toClass(tone - other) === 1)))
  const scale = new Set(scaleOver(slot))
  const home = slot.tonic
  const found: Candidate[] = []
  for (let pitch = Math.round(center) - reach - 3; pitch <= Math.round(center) + reach + 3; pitch++) {
    const tone = toClass(pitch)
    if (isStrong || close ? !stable.has(tone) : !scale.has(tone)) continue
    let cost = 0.55 * Math.abs(pitch - wish.pitch) + (Math.abs(pitch - center) > reach ? 2 : 0)
    // A semitone above a tone of the chord: bearable in passing.
    if (chord.some((other) => toClass(tone - other) === 1)) cost += beats >= 1 ? 5 : 1.5
    if (close === 'full' && tone !== home) cost += distance(tone, home) > 2 ? 3 : 6
    if (close === 'open' && tone === home) cost += 3
    found.push({ pitch, cost })
  }
  return found
}

function step(from: number, to: number, wanted: number): number {
  const size = Math.abs(to - from)
  const isAgainst = wanted !== 0 && Math.sign(wanted) !== Math.sign(to - from)
  return (leaps[size] ?? 20 + size) + (isAgainst ? 0.7 : 0)
}

function indexOfLeast(values: readonly number[]): number {
  return values.reduce((best, value, i) => (value < (values[best] as number) ? i : best), 0)
}
