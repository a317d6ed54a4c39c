// Composes a piece: tempo and form that fit the duration, harmony, the notes of every part, and how people play them.

import { createRandom, type Random } from '../../art/random.ts'
import type { Look } from '../prompt.ts'
import type { LeadPlayer, PartStyle, Progressions, Style } from '../style.ts'
import { type StyleName, styles } from '../styles.ts'
import { type Bar, writeBars } from './bars.ts'
import { writeBass } from './bass-line.ts'
import { writeComp, writePad } from './chords.ts'
import { planForm, type Section } from './form.ts'
import { writeDrums } from './groove.ts'
import { chooseGrid, writeJingle } from './jingle.ts'
import type { ScoreNote, ScoreStroke } from './note.ts'
import { chooseTempo, createClock, endingBars } from './tempo.ts'
import { type ScaleName, toClass } from './theory.ts'
import { createTheme, writeAnswers, writeTune } from './tune.ts'

/** A note in time. */
export interface Event {
  /** Which of the style's parts plays it. */
  readonly part: number
  /** In seconds. */
  readonly start: number
  readonly seconds: number
  readonly pitch: number
  /** 0 … 1. */
  readonly velocity: number
}

/** A stroke in time. */
export interface Stroke {
  readonly drum: ScoreStroke['drum']
  /** In seconds. */
  readonly start: number
  /** 0 … 1. */
  readonly velocity: number
}

/** A piece of music. */
export interface Piece {
  readonly style: StyleName
  /** The style's, with the lead that was asked for. */
  readonly parts: readonly PartStyle[]
  /** Of the grid that is played: what was asked for, or half or twice as much. */
  readonly bpm: number
  /** Pitch class of the key in which it ends. */
  readonly tonic: number
  readonly scale: ScaleName
  readonly events: readonly Event[]
  readonly strokes: readonly Stroke[]
  /** When the last chord begins, in seconds. */
  readonly endSeconds: number
  /** In their order, with the seconds at which they begin. A jingle has one, its ending. */
  readonly sections: readonly (Section & { readonly start: number })[]
  /** The chords under everything, in beats, with the seconds at which each bar begins. */
  readonly bars: readonly (Bar & { readonly start: number })[]
}

export interface PieceOptions extends Look {
  /** Null for one that suits the style. */
  readonly bpm: number | null
  readonly duration: number
  readonly seed: string
}

/** What is written, in beats; one list of notes for each part. */
interface Score {
  readonly bars: readonly Bar[]
  readonly notes: readonly (readonly ScoreNote[])[]
  readonly strokes: readonly ScoreStroke[]
}

/** Composes; the same options give the same piece. */
export function compose({ style: name, moods, lead, bpm: asked, duration, seed }: PieceOptions): Piece {
  const written: Style = styles[name]
  const parts = written.parts.map((part) => (part.role === 'lead' && lead ? { ...part, ...lead } : part))
  const style: Style = { ...written, parts }
  const random = createRandom(`${name} ${seed}`)
  const progressions = chooseProgressions(style, moods, random)
  const tonic = random.int(0, 11)
  const pace = moods.has('calm') === moods.has('lively') ? 0 : moods.has('calm') ? -1 : 1
  const tempo = chooseTempo(style, { asked, pace, duration, random })
  if (tempo.bars === 0) {
    const grid = chooseGrid(tempo.bpm, duration, asked === null)
    const score = writeJingle(style, progressions, tonic, grid, random)
    return perform({ name, style, score, bpm: 15 / grid.stepSeconds, slowing: 0, duration, seed })
  }
  const score = write(style, progressions, tonic, tempo.bars, random)
  return perform({ name, style, score, bpm: tempo.bpm, slowing: style.feel.slowing, duration, seed })
}

function chooseProgressions(style: Style, moods: Look['moods'], random: Random): Progressions {
  const chance = random.chance(0.5)
  const isBright = moods.has('bright') === moods.has('dark') ? chance : moods.has('bright')
  return isBright ? style.bright : style.dark
}

function write(style: Style, progressions: Progressions, tonic: number, count: number, random: Random): Score {
  const lift = style.lift > 0 && random.chance(0.6) ? style.lift : 0
  const body = planForm(count - endingBars, style.form, lift)
  const ending: Section = { kind: 'ending', bars: endingBars, turn: 0, energy: 0.8, lift: body.at(-1)?.lift ?? 0 }
  const bars = writeBars({ sections: [...body, ending], progressions, tonic, beats: style.beats, random })
  const leader = style.parts.find((part): part is LeadPlayer => part.role === 'lead')
  const tune = leader ? writeTune(leader, createTheme(leader, style.beats, random), bars) : []
  const play = (part: PartStyle): readonly ScoreNote[] => {
    switch (part.role) {
      case 'pad':
        return writePad(part, bars)
      case 'comp':
        return writeComp({ ...part, patterns: random.shuffle(part.patterns) }, bars)
      case 'bass':
        return writeBass({ ...part, patterns: random.shuffle(part.patterns) }, bars)
      case 'lead':
        return tune
      case 'answer':
        return writeAnswers(part, tune, bars)
    }
  }
  return { bars, notes: style.parts.map(play), strokes: style.drums ? writeDrums(style.drums, bars, random) : [] }
}

interface Performance {
  readonly name: StyleName
  readonly style: Style
  readonly score: Score
  readonly bpm: number
  readonly slowing: number
  readonly duration: number
  readonly seed: string
}

/** Turns beats into seconds, as people would play them: never exactly together, never twice alike. */
function perform({ name, style, score, bpm, slowing, duration, seed }: Performance): Piece {
  const { bars } = score
  const end = bars.at(-1) as Bar
  const first = bars[0] as Bar
  const clock = createClock(bpm, bars.length > endingBars ? style.swing : { place: 0.5, beats: 1 }, {
    from: bars.at(-2)?.beat ?? end.beat,
    to: end.beat,
    by: slowing,
  })
  const endSeconds = clock(end.beat)
  const { seconds, loudness } = style.feel
  const events = score.notes.flatMap((notes, part): Event[] => {
    const random = createRandom(`play ${part} ${seed}`)
    const { late = 0 } = style.parts[part] as PartStyle
    return notes.map(({ beat, beats, pitch, velocity, delay = 0 }) => {
      const isLast = beat >= end.beat - 1e-6
      const start = Math.max(0, clock(beat) + delay + late + seconds * bounded(random.gauss()))
      const until = isLast ? duration : clock(beat + beats)
      return {
        part,
        start,
        seconds: Math.max(0.03, until - clock(beat)),
        pitch,
        velocity: clamp(velocity * (1 + loudness * bounded(random.gauss()))),
      }
    })
  })
  const random = createRandom(`drum ${seed}`)
  const strokes = score.strokes.map(({ drum, beat, velocity }): Stroke => ({
    drum,
    start: Math.max(0, clock(beat) + 0.5 * seconds * bounded(random.gauss())),
    velocity: clamp(velocity * (1 + loudness * bounded(random.gauss()))),
  }))
  const sections = bars.flatMap(({ section, index, beat }) => (index === 0 ? [{ ...section, start: clock(beat) }] : []))
  return {
    style: name,
    parts: style.parts,
    bpm,
    tonic: toClass(end.slots[0]?.tonic ?? 0),
    scale: (first.slots[0] as { scale: ScaleName }).scale,
    events: events.toSorted((a, b) => a.start - b.start),
    strokes: strokes.toSorted((a, b) => a.start - b.start),
    endSeconds,
    sections,
    bars: bars.map((bar) => ({ ...bar, start: clock(bar.beat) })),
  }
}

function bounded(value: number): number {
  return Math.max(-2, Math.min(2, value))
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0.05, value))
}
