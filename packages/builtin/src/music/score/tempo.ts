// Tempo: how many bars fill a duration, how fast, and when each beat sounds.

import type { Random } from '../../art/random.ts'
import type { Style } from '../style.ts'
import { phraseBars } from './form.ts'

/** Bars of an ending: a cadence, and the last chord. */
export const endingBars = 2
/** Fewer than these before the ending are no tune. */
const fewestBars = 2
const shortestTune = 4

/** How a piece lies in time. */
export interface Tempo {
  /** Of the grid that is played: what was asked, or half or twice as much. */
  readonly bpm: number
  /** With the ending; 0 where a jingle is all that fits. */
  readonly bars: number
}

export interface TempoOptions {
  /** Beats a minute; null for what suits the style and fits. */
  readonly asked: number | null
  /** -1 slow, 0 as it comes, 1 fast. */
  readonly pace: -1 | 0 | 1
  readonly duration: number
  readonly random: Random
}

/** Chooses tempo and bars so that the last chord begins with its tail before the end of the duration. */
export function chooseTempo(style: Style, { asked, pace, duration, random }: TempoOptions): Tempo {
  const [low, high] = style.bpm
  const tail = Math.min(duration * 0.3, 1.3 + 0.5 * style.room.seconds)
  // The cadence is one bar, over which the beats grow longer.
  const extra = style.feel.slowing / 2
  if (asked !== null) {
    const bpm = intoReach(asked, low, high)
    const barSeconds = (style.beats * 60) / bpm
    const bars = Math.floor((duration - 0.6 * tail) / barSeconds - extra) + 1
    return isTune(bars, duration) ? { bpm, bars } : { bpm, bars: 0 }
  }
  const part = pace === 0 ? random.range(0.2, 0.8) : pace > 0 ? 1 : 0
  const wanted = (low + (high - low) * part) * (1 + 0.06 * pace)
  // The tail may be a little shorter or longer, if that helps.
  const tempoOf = (bars: number): number => {
    const quarters = 60 * (bars - 1 + extra) * style.beats
    return Math.min(quarters / (duration - 1.4 * tail), Math.max(quarters / (duration - 0.75 * tail), wanted))
  }
  const guess = Math.round(((duration - tail) * wanted) / 60 / style.beats - extra) + 1
  const [best = 0] = Array.from({ length: 9 }, (_, i) => guess - 4 + i)
    .filter((bars) => isTune(bars, duration))
    .toSorted((a, b) => misfit(a, tempoOf(a), wanted, style.bpm) - misfit(b, tempoOf(b), wanted, style.bpm))
  return best === 0 ? { bpm: wanted, bars: 0 } : { bpm: tempoOf(best), bars: best }
}

/** When each beat sounds, in seconds; the grid may swing, and slow down between two beats. */
export function createClock(
  bpm: number,
  swing: Style['swing'],
  slowing: { readonly from: number; readonly to: number; readonly by: number },
): (beat: number) => number {
  const second = 60 / bpm
  const length = slowing.to - slowing.from
  return (beat) => {
    const at = swung(beat, swing)
    if (at <= slowing.from || length <= 0) return at * second
    const inside = Math.min(at, slowing.to) - slowing.from
    const after = Math.max(0, at - slowing.to)
    return second * (slowing.from + inside + (slowing.by * inside ** 2) / (2 * length) + after * (1 + slowing.by))
  }
}

/** Far from a style's own tempo, the beat is halved or doubled. */
export function intoReach(bpm: number, low: number, high: number): number {
  if (bpm < 0.72 * low) return intoReach(2 * bpm, low, high)
  return bpm > 1.45 * high ? intoReach(bpm / 2, low, high) : bpm
}

function isTune(bars: number, duration: number): boolean {
  return bars - endingBars >= fewestBars && duration >= shortestTune
}

/** Whole phrases, and half a one before them, are worth a tempo that is a little off; one that is no longer the style's is not. */
function misfit(bars: number, bpm: number, wanted: number, [low, high]: Style['bpm']): number {
  const strange = Math.max(0, Math.log2(low / bpm), Math.log2(bpm / high))
  const broken = (bars - endingBars) % (phraseBars / 2) === 0 ? 0 : 0.12
  return Math.abs(Math.log2(bpm / wanted)) + 4 * strange + broken
}

/** Moves the second of each two later, and what lies between with it. */
function swung(beat: number, { place, beats }: Style['swing']): number {
  const pair = Math.floor(beat / beats + 1e-9)
  const part = beat / beats - pair
  const moved = part < 0.5 ? part * 2 * place : place + (part - 0.5) * 2 * (1 - place)
  return (pair + moved) * beats
}
