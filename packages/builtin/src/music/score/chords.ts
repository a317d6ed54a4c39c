// Those who play chords: held, struck, strummed, or note by note.

import type { CompPlayer, PadPlayer } from '../style.ts'
import { type Bar, plays, type Slot } from './bars.ts'
import { loudnessOf, readPattern, type ScoreNote, stepsPerBeat } from './note.ts'
import { layOut } from './voicing.ts'

const strumSeconds = 0.014

/** Chords held as long as they last, louder where more is going on. */
export function writePad(player: PadPlayer, bars: readonly Bar[]): ScoreNote[] {
  const voices = layOutAll(bars, player.center, player.voices ?? 4, false)
  return bars.flatMap((bar) =>
    plays(player, bar)
      ? bar.slots.flatMap((slot) =>
          (voices.get(slot) ?? []).map((pitch) => ({
            beat: slot.beat,
            beats: slot.beats,
            pitch,
            velocity: 0.45 + 0.4 * bar.energy,
          })),
        )
      : [],
  )
}

/** Chords in a rhythm; the last one spreads from the bottom up. */
export function writeComp(player: CompPlayer, bars: readonly Bar[]): ScoreNote[] {
  const voices = layOutAll(bars, player.center, player.voices ?? 4, player.isRootless ?? false)
  const [first = '', second = first] = player.patterns
  return bars.flatMap((bar): ScoreNote[] => {
    if (!plays(player, bar)) return []
    if (bar.section.kind === 'ending' && bar.index === bar.section.bars - 1) {
      const chord = voices.get(bar.slots[0] as Slot) ?? []
      const [velocity, spread] = isBroken(player) ? [0.34, 0.09] : [0.65, 0.022]
      return chord.map((pitch, n) => ({ beat: bar.beat, beats: bar.beats, pitch, velocity, delay: spread * n }))
    }
    const pattern = bar.section.kind === 'chorus' ? second : first
    const signs = readPattern(pattern, bar.number, bar.beats * stepsPerBeat)
    const softness = 0.7 + 0.3 * Math.min(1, bar.energy + 0.15)
    return signs.flatMap(({ step, sign }, n): ScoreNote[] => {
      const beat = bar.beat + step / stepsPerBeat
      const slot = bar.slots.findLast((one) => one.beat <= beat + 1e-6) as Slot
      const chord = voices.get(slot) ?? []
      const isDamped = sign === 'x'
      const velocity = (isDamped ? 0.4 : loudnessOf(sign)) * softness
      const next = (signs[n + 1]?.step ?? bar.beats * stepsPerBeat + (signs[0]?.step ?? 0)) - step
      const beats = isDamped ? 0.08 : Math.min(player.hold, Math.max(slot.beat + slot.beats - beat, 0.25))
      if (player.manner === 'block') return chord.map((pitch) => ({ beat, beats, pitch, velocity }))
      if (player.manner === 'strum') {
        // Off the beat the hand comes back up, and does not reach the lowest strings.
        const isUp = step % 4 !== 0 && next < 8
        const strings = isUp ? chord.slice(1).toReversed() : chord
        return strings.map((pitch, i) => ({
          beat,
          beats,
          pitch,
          velocity: velocity * (isUp ? 0.85 : 1),
          delay: strumSeconds * i,
        }))
      }
      return [
        {
          beat,
          beats: Math.min(player.hold, slot.beat + slot.beats - beat + 0.5),
          pitch: climb(player, chord, n),
          velocity,
        },
      ]
    })
  })
}

/** Whether its chords are played note by note. */
function isBroken({ manner }: CompPlayer): boolean {
  return manner !== 'block' && manner !== 'strum'
}

/** The note of a broken chord. */
function climb({ manner }: CompPlayer, chord: readonly number[], n: number): number {
  const ladder = [...chord, ...chord.map((pitch) => pitch + 12)]
  const pick = (at: number): number => ladder[at % ladder.length] as number
  if (manner === 'up') return pick(n)
  // Low, high, middle, high.
  if (manner === 'alberti')
    return chord[[0, chord.length - 1, Math.floor(chord.length / 2), chord.length - 1][n % 4] as number] as number
  const turn = n % (2 * ladder.length - 2)
  return pick(turn < ladder.length ? turn : 2 * ladder.length - 2 - turn)
}

/** The voices of every chord, each led from the one before. */
function layOutAll(bars: readonly Bar[], center: number, voices: number, isRootless: boolean): Map<Slot, number[]> {
  const found = new Map<Slot, number[]>()
  let before: readonly number[] = []
  for (const bar of bars) {
    // The last chord has its root.
    const layout = { center, voices, isRootless: isRootless && bar.section.kind !== 'ending' }
    for (const slot of bar.slots) {
      const chord = layOut(slot, layout, before)
      found.set(slot, chord)
      before = chord
    }
  }
  return found
}
