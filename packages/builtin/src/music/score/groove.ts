// Drums over the form: a groove for each section, fills at the end of phrases, rolls that build up.

import type { Random } from '../../art/random.ts'
import type { DrumName } from '../band/kits.ts'
import type { Groove, Style } from '../style.ts'
import type { Bar } from './bars.ts'
import { phraseBars } from './form.ts'
import { loudnessOf, readPattern, type ScoreStroke, stepsPerBeat } from './note.ts'

type Drums = NonNullable<Style['drums']>

/** Writes the drums of a piece. */
export function writeDrums(drums: Drums, bars: readonly Bar[], random: Random): ScoreStroke[] {
  const [short, long] = sortFills(drums.fills)
  return bars.flatMap((bar, b) => {
    const { kind } = bar.section
    const before = bars[b - 1]
    const next = bars[b + 1]
    if (kind === 'ending' && bar.index === bar.section.bars - 1) return endOf(drums, bar)
    if (kind === 'build') return build(bar, next)
    // Introductions of more than a bar begin without drums.
    if (kind === 'intro' && bar.section.bars > 2 && bar.index < bar.section.bars / 2) return []
    const groove = bar.energy < 0.45 ? drums.calm : kind === 'chorus' ? drums.chorus : drums.verse
    const isSectionEnd = next !== undefined && next.section !== bar.section
    const isPhraseEnd = bar.index % phraseBars === phraseBars - 1
    const isBig = kind === 'ending' || (isSectionEnd && next.energy >= 0.45)
    const fill = isBig ? random.pick(long) : isPhraseEnd || isSectionEnd ? random.pick(short) : undefined
    const strokes = playGroove(groove, bar, fill)
    // A roll announces the next section.
    if (isSectionEnd && drums.hasCrash && next.energy - bar.energy > 0.15)
      strokes.push({ drum: 'swell', beat: next.beat, velocity: 0.45 })
    const begins = bar.index === 0 && before !== undefined && bar.energy >= 0.5 && kind !== 'ending'
    if (begins && drums.hasCrash) strokes.push({ drum: 'crash', beat: bar.beat, velocity: 0.4 + 0.3 * bar.energy })
    return strokes
  })
}

/** Short fills, and long ones of half a bar or more; without one of a kind the other serves. */
function sortFills(fills: readonly Groove[]): [readonly (Groove | undefined)[], readonly (Groove | undefined)[]] {
  const short = fills.filter((fill) => lengthOf(fill) <= stepsPerBeat)
  const long = fills.filter((fill) => lengthOf(fill) > stepsPerBeat)
  const none = [undefined]
  return [short.length > 0 ? short : none, long.length > 0 ? long : short.length > 0 ? short : none]
}

function lengthOf(fill: Groove): number {
  return Math.max(...Object.values(fill).map((line) => line.length))
}

function playGroove(groove: Groove, bar: Bar, fill: Groove | undefined): ScoreStroke[] {
  const barSteps = bar.beats * stepsPerBeat
  const from = fill ? barSteps - lengthOf(fill) : barSteps
  const strokes = linesOf(groove).flatMap(([drum, line]) =>
    readPattern(line, bar.number, barSteps)
      .filter(({ step }) => step < from)
      .map(({ step, sign }) => toStroke(drum, bar, step, loudnessOf(sign))),
  )
  const filled = fill
    ? linesOf(fill).flatMap(([drum, line]) =>
        [...line].flatMap((sign, step) => (sign === '-' ? [] : [toStroke(drum, bar, from + step, loudnessOf(sign))])),
      )
    : []
  return [...strokes, ...filled]
}

/** A roll whose strokes come twice as often in each quarter of the section, over a steady kick; before the end it holds its breath. */
function build(bar: Bar, next: Bar | undefined): ScoreStroke[] {
  const { bars } = bar.section
  const barSteps = bar.beats * stepsPerBeat
  const isLast = bar.index === bars - 1
  const roll = Array.from({ length: isLast ? barSteps - 2 : barSteps }, (_, step) => step).flatMap((step) => {
    const progress = (bar.index + step / barSteps) / bars
    const every = progress < 0.5 ? 4 : progress < 0.75 ? 2 : 1
    const strokes: ScoreStroke[] = []
    if (step % every === 0) strokes.push(toStroke('snare', bar, step, 0.2 + 0.6 * progress ** 1.5))
    if (step % 4 === 0 && progress < 0.8) strokes.push(toStroke('kick', bar, step, 0.75))
    return strokes
  })
  return isLast && next ? [...roll, { drum: 'swell', beat: next.beat, velocity: 0.6 }] : roll
}

/** The last stroke, with whatever the style strikes on the first beat. */
function endOf({ hasCrash, verse }: Drums, bar: Bar): ScoreStroke[] {
  const struck = linesOf(verse)
    .filter(([, line]) => line[0] !== '-')
    .map(([drum]) => toStroke(drum, bar, 0, 0.75))
  return hasCrash ? [...struck, toStroke('crash', bar, 0, 0.6)] : struck
}

function linesOf(groove: Groove): [DrumName, string][] {
  return Object.entries(groove) as [DrumName, string][]
}

function toStroke(drum: DrumName, bar: Bar, step: number, velocity: number): ScoreStroke {
  return { drum, beat: bar.beat + step / stepsPerBeat, velocity }
}
