// Where the voice vibrates: a mark for each of its periods, and one every few milliseconds where it only hisses.

import { applyFilters, lowPass } from '../sound/filter.ts'

/** A place in a sound around which it is cut. */
export interface Mark {
  /** Its sample. */
  readonly at: number
  /** The samples from one to the next. */
  readonly period: number
  /** Whether the voice vibrates there. */
  readonly voiced: boolean
}

const hopSeconds = 0.005
const windowSeconds = 0.03
// How like itself one period later a sound must be to be a voice, and how loud.
const leastLikeness = 0.72
const leastLevel = 0.004
// A rounder peak this near to the highest is taken when it is the shorter period: twice a period is as like.
const nearlyHighest = 0.92
const overtones = 900

/**
 * Marks the periods of a voice, in order.
 * @param lowest and highest: what its pitch may be, in Hz
 */
export function markPeriods(samples: Float32Array, sampleRate: number, lowest: number, highest: number): Mark[] {
  const smooth = applyFilters(samples, [lowPass(sampleRate, overtones), lowPass(sampleRate, overtones)])
  const hop = Math.round(hopSeconds * sampleRate)
  const periods = trackPeriods(smooth, sampleRate, hop, lowest, highest)
  const marks: Mark[] = []
  let at = 0
  while (at < samples.length) {
    const period = periods[Math.floor(at / hop)] ?? 0
    const before = marks.at(-1)
    if (period === 0) marks.push({ at, period: hop, voiced: false })
    else if (!before?.voiced) marks.push({ at: highestNear(smooth, at, period), period, voiced: true })
    else marks.push({ at: likestNear(smooth, before.at, at, period), period, voiced: true })
    const last = marks.at(-1) as Mark
    at = last.at + last.period
  }
  return marks
}

/** The period at each hop, in samples; 0 where there is none. */
function trackPeriods(samples: Float32Array, rate: number, hop: number, lowest: number, highest: number): number[] {
  const [shortest, longest] = [Math.floor(rate / highest), Math.ceil(rate / lowest)]
  const window = Math.round(windowSeconds * rate)
  const periods = Array.from({ length: Math.ceil(samples.length / hop) }, (_, i) => {
    const from = Math.max(0, i * hop - (window >> 1))
    return periodAt(samples, from, window, shortest, longest)
  })
  // A single hop that differs from its neighbours is a mistake.
  return periods.map((period, i) => {
    const [before = 0, after = 0] = [periods[i - 1], periods[i + 1]]
    const [least = 0, middle = 0, most = 0] = [before, period, after].toSorted((a, b) => a - b)
    return least > 0 && most > 0 ? middle : period > 0 && before === 0 && after === 0 ? 0 : period
  })
}

function periodAt(samples: Float32Array, from: number, window: number, shortest: number, longest: number): number {
  const step = 2
  let energy = 0
  for (let i = 0; i < window; i++) energy += (samples[from + i] ?? 0) ** 2
  if (Math.sqrt(energy / window) < leastLevel) return 0
  const likeness = (lag: number, stride: number): number => {
    let [product, one, other] = [0, 1e-9, 1e-9]
    for (let i = 0; i < window; i += stride) {
      const [a, b] = [samples[from + i] ?? 0, samples[from + i + lag] ?? 0]
      product += a * b
      one += a * a
      other += b * b
    }
    return product / Math.sqrt(one * other)
  }
  const lags = Array.from({ length: Math.floor((longest - shortest) / step) + 1 }, (_, i) => shortest + i * step)
  const all = lags.map((lag) => likeness(lag, 4))
  const highest = Math.max(...all)
  if (highest < leastLikeness) return 0
  const isPeak = (i: number): boolean =>
    (all[i] ?? 0) >= nearlyHighest * highest &&
    (all[i] ?? 0) >= (all[i - 1] ?? -1) &&
    (all[i] ?? 0) >= (all[i + 1] ?? -1)
  const coarse = lags[lags.findIndex((_, i) => isPeak(i))] ?? shortest
  return [coarse - 1, coarse, coarse + 1].toSorted((a, b) => likeness(b, 1) - likeness(a, 1))[0] ?? coarse
}

function highestNear(samples: Float32Array, at: number, period: number): number {
  let best = at
  for (let i = at; i < Math.min(samples.length, at + period); i++)
    if ((samples[i] as number) > (samples[best] as number)) best = i
  return best
}

/** The place near `at` whose surroundings are most like those of an earlier mark. */
function likestNear(samples: Float32Array, earlier: number, at: number, period: number): number {
  const reach = Math.max(1, Math.round(0.12 * period))
  const half = period >> 1
  let [best, highest] = [at, Number.NEGATIVE_INFINITY]
  for (let place = at - reach; place <= at + reach; place++) {
    let [product, energy] = [0, 1e-9]
    for (let i = -half; i <= half; i += 2) {
      const sample = samples[place + i] ?? 0
      product += (samples[earlier + i] ?? 0) * sample
      energy += sample * sample
    }
    const likeness = product / Math.sqrt(energy)
    if (likeness > highest) [best, highest] = [place, likeness]
  }
  return Math.max(earlier + 1, best)
}
