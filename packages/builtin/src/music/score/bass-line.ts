// The lowest line: roots where chords begin, and the way from one to the next.

import type { BassPlayer } from '../style.ts'
import { type Bar, plays, type Slot } from './bars.ts'
import { readPattern, type ScoreNote, stepsPerBeat } from './note.ts'
import { nearest, rootOf, scaleOver, toClass } from './theory.ts'

/** Writes the bass of a piece. */
export function writeBass(player: BassPlayer, bars: readonly Bar[]): ScoreNote[] {
  const [first = '', second = first] = player.patterns
  return bars.flatMap((bar, b): ScoreNote[] => {
    if (!plays(player, bar)) return []
    const isEnd = bar.section.kind === 'ending' && bar.index === bar.section.bars - 1
    if (isEnd) {
      const slot = bar.slots[0] as Slot
      return [{ beat: bar.beat, beats: bar.beats, pitch: nearest(player.center, rootOf(slot)), velocity: 0.85 }]
    }
    const pattern = bar.section.kind === 'chorus' ? second : first
    const signs = readPattern(pattern, bar.number, bar.beats * stepsPerBeat)
    // A pattern may have nothing where a chord begins, but each needs its root.
    for (const slot of bar.slots.slice(1)) {
      const step = Math.round((slot.beat - bar.beat) * stepsPerBeat)
      const at = signs.find((sign) => Math.abs(sign.step - step) <= 1)
      if (!at) signs.push({ step, sign: 'r' })
    }
    signs.sort((a, b) => a.step - b.step)
    return signs.map(({ step, sign }, n): ScoreNote => {
      const beat = bar.beat + step / stepsPerBeat
      const slot = bar.slots.findLast((one) => one.beat <= beat + 0.26) as Slot
      const next = bar.slots[bar.slots.indexOf(slot) + 1] ?? bars[b + 1]?.slots[0] ?? slot
      const until = (signs[n + 1]?.step ?? bar.beats * stepsPerBeat) - step
      const pitch = toPitch(sign, { slot, next, beat, center: player.center, isLast: isLastOf(signs, n, slot, bar) })
      const isDamped = sign === 'x'
      return {
        beat,
        beats: isDamped ? 0.06 : Math.min(player.hold, until / stepsPerBeat),
        pitch,
        velocity: isDamped
          ? 0.35
          : sign === sign.toUpperCase() && sign !== sign.toLowerCase()
            ? 1
            : step === 0
              ? 0.88
              : 0.74,
      }
    })
  })
}

interface Place {
  readonly slot: Slot
  readonly next: Slot
  readonly beat: number
  readonly center: number
  /** Whether the next note belongs to the next chord. */
  readonly isLast: boolean
}

function toPitch(sign: string, { slot, next, beat, center, isLast }: Place): number {
  const root = nearest(center, rootOf(slot))
  const { tones } = slot.chord
  switch (sign.toLowerCase()) {
    case '3':
      return root + (tones[1] ?? 4)
    case '5': {
      const fifth = root + (tones[2] ?? 7)
      return fifth > center + 6 ? fifth - 12 : fifth
    }
    case '7':
      return root + (tones[3] ?? 9) - (root > center ? 12 : 0)
    case '8':
      return root + 12
    case 'a':
      return approach(root, nearest(root, rootOf(next)))
    case 'w': {
      // The first of a chord is its root; the last leads on; between them the scale, in the direction of what comes.
      if (beat < slot.beat + 0.3) return root
      const target = nearest(root, rootOf(next))
      if (isLast) return approach(root, target)
      const way = (beat - slot.beat) / slot.beats
      const isSame = target === root
      const wanted = isSame
        ? root + 5 * Math.sin(Math.PI * way) + 2
        : root + (target - root) * way + 4 * Math.sin(Math.PI * way)
      const fits = beat % 2 === 0 ? tones.map((tone) => toClass(rootOf(slot) + tone)) : scaleOver(slot)
      return fits
        .map((tone) => nearest(wanted, tone))
        .reduce((a, b) => (Math.abs(b - wanted) < Math.abs(a - wanted) ? b : a))
    }
    default:
      return root
  }
}

/** A semitone from below, or from above where that is where one comes from. */
function approach(from: number, target: number): number {
  return target + (from > target ? 1 : -1)
}

function isLastOf(signs: readonly { step: number }[], n: number, slot: Slot, bar: Bar): boolean {
  const next = signs[n + 1]
  return next === undefined || bar.beat + next.step / stepsPerBeat >= slot.beat + slot.beats - 0.01
}
