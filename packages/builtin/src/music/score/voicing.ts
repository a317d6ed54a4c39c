// Voice leading: chooses the layout of a chord to which the voices move least.

import { classesOf, type Harmony, toClass } from './theory.ts'

/** How a part lays out its chords. */
export interface Layout {
  /** Pitch around which the voices lie. */
  readonly center: number
  /** Voices at the most; the fifth goes first, then the root. */
  readonly voices: number
  /** Whether the root is left to the bass where the chord has four tones or more. */
  readonly isRootless: boolean
}

const range = 10
const muddyBelow = 52

/**
 * Lays out a chord, lowest voice first: close or with its second voice from above an octave lower, in any inversion.
 * @param before the voices of the chord before; none for a first chord
 */
export function layOut(harmony: Harmony, layout: Layout, before: readonly number[]): number[] {
  let best: number[] = []
  let least = Infinity
  for (const voices of layouts(chooseTones(harmony, layout), layout.center)) {
    const cost = costOf(voices, layout.center, before)
    if (cost < least) [best, least] = [voices, cost]
  }
  return best
}

/** The fewest semitones in which one chord can become the other, each voice going to one of the new tones. */
export function motion(from: readonly number[], to: readonly number[]): number {
  const reach = (a: readonly number[], b: readonly number[]): number =>
    a.reduce((sum, pitch) => sum + Math.min(...b.map((other) => Math.abs(other - pitch))), 0)
  return Math.max(reach(from, to), reach(to, from))
}

/** Pitch classes to be sounded. */
function chooseTones(harmony: Harmony, { voices, isRootless }: Layout): number[] {
  const all = classesOf(harmony)
  let tones = isRootless && all.length > 3 ? all.slice(1) : all
  const expendable = [7, 0, 17].map((tone) => toClass(tone + (all[0] as number)))
  for (const tone of expendable) if (tones.length > voices) tones = tones.filter((other) => other !== tone)
  return tones.slice(-voices)
}

function layouts(tones: readonly number[], center: number): number[][] {
  const found: number[][] = []
  const sorted = [...new Set(tones)].toSorted((a, b) => a - b)
  for (let lowest = center - 16; lowest <= center + 8; lowest++) {
    const first = sorted.indexOf(toClass(lowest))
    if (first < 0) continue
    const close = sorted.map((_, i) => {
      const tone = sorted[(first + i) % sorted.length] as number
      return lowest + toClass(tone - lowest)
    })
    found.push(close)
    const second = close.at(-2)
    if (close.length > 3 && second !== undefined)
      found.push([...close.filter((pitch) => pitch !== second), second - 12].toSorted((a, b) => a - b))
  }
  return found
}

function costOf(voices: readonly number[], center: number, before: readonly number[]): number {
  const mean = voices.reduce((sum, pitch) => sum + pitch, 0) / voices.length
  const off = Math.abs(mean - center)
  let cost = 0.5 * off + (off > range ? 50 : 0)
  for (const [i, pitch] of voices.entries()) {
    const gap = pitch - (voices[i - 1] ?? pitch - 12)
    // Semitones rub, most of all on top; low thirds are mud.
    if (gap === 1) cost += i === voices.length - 1 ? 5 : 2
    if (i > 0 && gap < 5 && pitch - gap < muddyBelow) cost += 5
    if (gap > 12) cost += 4
  }
  if (before.length === 0) return cost
  cost += motion(before, voices)
  const [low, high] = [(voices[0] as number) - (before[0] as number), (voices.at(-1) ?? 0) - (before.at(-1) ?? 0)]
  const outer = toClass((voices.at(-1) ?? 0) - (voices[0] as number))
  const outerBefore = toClass((before.at(-1) ?? 0) - (before[0] as number))
  // Outer voices in parallel octaves or fifths.
  if (low === high && low !== 0 && outer === outerBefore && (outer === 0 || outer === 7)) cost += 4
  // The ear follows the highest voice.
  return cost + 0.4 * Math.abs(high)
}
