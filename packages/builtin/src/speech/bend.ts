// Changes the pitch of a voice, but not its length or timbre: moves its periods closer together or further apart (TD-PSOLA).

import type { Sound } from '../sound/sound.ts'
import { type Mark, markPeriods } from './pitch-marks.ts'

/** By what to multiply the pitch, at a time in seconds, where it is now so many Hz. */
export type Bend = (seconds: number, hertz: number) => number

/**
 * Bends the pitch of one voice. Where the bend is 1 the sound stays as it is.
 * @param range what the pitch may be now, in Hz
 */
export function bendPitch(sound: Sound, range: readonly [number, number], bend: Bend): Sound {
  const { sampleRate, channels } = sound
  const [samples = new Float32Array(0)] = channels
  const marks = markPeriods(samples, sampleRate, ...range)
  const bent = new Float32Array(samples.length)
  let [place, nearest] = [marks[0]?.at ?? 0, 0]
  while (place < samples.length && marks.length > 0) {
    while (distance(marks[nearest + 1], place) <= distance(marks[nearest], place) && nearest < marks.length - 1)
      nearest++
    const mark = marks[nearest] as Mark
    addGrain(bent, samples, marks, nearest, Math.round(place))
    const next = (marks[nearest + 1]?.at ?? mark.at + mark.period) - mark.at
    place += mark.voiced ? next / bend(place / sampleRate, sampleRate / mark.period) : next
  }
  return { sampleRate, channels: [bent] }
}

function distance(mark: Mark | undefined, place: number): number {
  return mark ? Math.abs(mark.at - place) : Number.POSITIVE_INFINITY
}

/** Adds the window around a mark, which fades towards its neighbours, at a new place. */
function addGrain(to: Float32Array, from: Float32Array, marks: readonly Mark[], index: number, place: number): void {
  const { at, period } = marks[index] as Mark
  const before = at - (marks[index - 1]?.at ?? at - period)
  const after = (marks[index + 1]?.at ?? at + period) - at
  for (let i = 1 - before; i < after; i++) {
    if (place + i < 0 || place + i >= to.length) continue
    const weight = 0.5 + 0.5 * Math.cos((Math.PI * i) / (i < 0 ? before : after))
    to[place + i] = (to[place + i] as number) + weight * (from[at + i] ?? 0)
  }
}
