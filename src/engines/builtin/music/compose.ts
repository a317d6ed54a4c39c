// Composes a piece: a form that fits the duration exactly, a harmony, and the notes of every part.

import { createRandom, type Random } from '../art/random.ts'
import type { DrumName } from './drums.ts'
import { createMotif, type Motif, playMotif } from './melody.ts'
import type { Mood } from './prompt.ts'
import type { Groove, Harmony, Style } from './style.ts'
import { type StyleName, styles } from './styles.ts'
import { type Chord, nearest, parseChord, type ScaleName, voice } from './theory.ts'

/** The parts that play notes. */
export const partNames = ['pad', 'chords', 'bass', 'lead'] as const
export type PartName = (typeof partNames)[number]

/** A note in time. */
export interface Event {
  readonly part: PartName
  /** In seconds. */
  readonly start: number
  readonly seconds: number
  readonly pitch: number
  /** 0 … 1. */
  readonly velocity: number
}

/** A stroke in time. */
export interface Stroke {
  readonly drum: DrumName
  /** In seconds. */
  readonly start: number
  /** 0 … 1. */
  readonly velocity: number
}

/** A piece of music. */
export interface Piece {
  readonly style: StyleName
  readonly bpm: number
  /** 0 is C. */
  readonly tonic: number
  readonly scale: ScaleName
  readonly events: readonly Event[]
  readonly strokes: readonly Stroke[]
  /** When the last chord begins, in seconds. */
  readonly endSeconds: number
  readonly sections: readonly Section[]
}

type SectionKind = 'intro' | 'first' | 'second' | 'break' | 'cadence' | 'end'

interface Section {
  readonly kind: SectionKind
  readonly bars: number
  /** How often this kind was heard before. */
  readonly turn: number
}

interface Bar {
  readonly section: Section
  /** Within its section. */
  readonly index: number
  /** From the beginning of the piece. */
  readonly number: number
  /** One, or two that share the bar. */
  readonly chords: readonly Chord[]
}

export interface PieceOptions {
  readonly style: StyleName
  readonly moods: ReadonlySet<Mood>
  /** Null for one that suits the style. */
  readonly bpm: number | null
  readonly duration: number
  readonly seed: string
}

const phraseBars = 4
const stepsPerBeat = 4
// The last chord is held beyond the end; the mix lets it die away.
const endBars = 4

/** Composes; the same options give the same piece. */
export function compose(options: PieceOptions): Piece {
  const style: Style = styles[options.style]
  const random = createRandom(`${options.style} ${options.seed}`)
  const harmony = chooseHarmony(style, options.moods, random)
  const tonic = random.int(0, 11)
  const { bpm, bars } = chooseTempo(style, options, random)
  const sections = createForm(bars)
  const score = harmonise(sections, harmony, random)
  const context: Context = { style, random, harmony, tonic, score, bpm }
  const { events, strokes } = playAll(context)
  const endBeat = (bars - 1) * style.beats
  return {
    style: options.style,
    bpm,
    tonic,
    scale: harmony.scale,
    events,
    strokes,
    endSeconds: (endBeat * 60) / bpm,
    sections,
  }
}

function chooseHarmony(style: Style, moods: ReadonlySet<Mood>, random: Random): Harmony {
  const chance = random.chance(0.5)
  const isBright = moods.has('bright') ? !moods.has('dark') || chance : moods.has('dark') ? false : chance
  return isBright ? style.bright : style.dark
}

/** A tempo at which whole bars and the last chord's tail fill the duration. */
function chooseTempo(
  style: Style,
  { bpm: asked, duration, moods }: PieceOptions,
  random: Random,
): { bpm: number; bars: number } {
  const [low, high] = style.bpm
  const pace = moods.has('calm') === moods.has('lively') ? random.float() : moods.has('calm') ? 0 : 1
  const wanted = asked ?? (low + (high - low) * pace) * (moods.has('calm') ? 0.92 : moods.has('lively') ? 1.06 : 1)
  const barSeconds = (style.beats * 60) / wanted
  // The last chord begins one bar and a tail before the end; the tail grows with the room.
  const tail = Math.min(duration * 0.3, 1.2 + 0.5 * style.room.seconds)
  const bars = Math.max(2, Math.round((duration - tail) / barSeconds))
  if (asked !== null) return { bpm: asked, bars: Math.max(2, Math.floor((duration - tail * 0.6) / barSeconds)) }
  return { bpm: (bars * style.beats * 60) / (duration - tail), bars }
}

const shortOrder: readonly SectionKind[] = ['first', 'second', 'first']
const longOrder: readonly SectionKind[] = [
  ...(['first', 'first', 'second', 'second', 'break', 'first'] as const),
  ...(['second', 'first', 'second', 'second'] as const),
]

/** Sections whose bars add up. */
function createForm(bars: number): Section[] {
  const ending = bars >= 4 ? 2 : 1
  const body = bars - ending
  // What four does not divide comes before the tune; where there is room, a phrase more.
  const rest = body % phraseBars
  const intro = rest + ((rest === 0 && body >= 12) || body >= 24 ? phraseBars : 0)
  const phrases = (body - intro) / phraseBars
  const order = phrases <= 3 ? shortOrder : longOrder
  const kinds = Array.from({ length: phrases }, (_, i): SectionKind =>
    i === phrases - 1 && phrases > 2 ? 'first' : (order[i % order.length] as SectionKind),
  )
  const turns = new Map<SectionKind, number>()
  const sections: Section[] = []
  const add = (kind: SectionKind, length: number): void => {
    if (length <= 0) return
    const turn = turns.get(kind) ?? 0
    turns.set(kind, turn + 1)
    sections.push({ kind, bars: length, turn })
  }
  add(phrases === 0 ? 'first' : 'intro', intro)
  for (const kind of kinds) add(kind, phraseBars)
  if (ending === 2) add('cadence', 1)
  add('end', 1)
  return sections
}

function harmonise(sections: readonly Section[], harmony: Harmony, random: Random): Bar[] {
  const [first, second] = [random.pick(harmony.first), random.pick(harmony.second)].map((line) =>
    line.split(' ').map((bar) => bar.split('/').map(parseChord)),
  ) as [Chord[][], Chord[][]]
  const [cadence, end] = harmony.cadence.map((bar) => bar.split('/').map(parseChord)) as [Chord[], Chord[]]
  let number = 0
  return sections.flatMap((section) =>
    Array.from({ length: section.bars }, (_, index): Bar => {
      const line = section.kind === 'second' || section.kind === 'break' ? second : first
      const chords = section.kind === 'cadence' ? cadence : section.kind === 'end' ? end : line[index % line.length]
      return { section, index, number: number++, chords: chords as Chord[] }
    }),
  )
}

interface Context {
  readonly style: Style
  readonly random: Random
  readonly harmony: Harmony
  readonly tonic: number
  readonly score: readonly Bar[]
  readonly bpm: number
}

interface Playing {
  /** Adds a note; beats count from the beginning of the piece. */
  note(part: PartName, beat: number, beats: number, pitch: number, velocity: number): void
  stroke(drum: DrumName, beat: number, velocity: number): void
}

function playAll(context: Context): { events: Event[]; strokes: Stroke[] } {
  const { style, random, bpm, score } = context
  const events: Event[] = []
  const strokes: Stroke[] = []
  const isExact = style.drums?.kit === 'chip'
  // Nobody plays exactly on the beat.
  const human = (): number => (isExact ? 0 : 0.006 * random.gauss())
  const toSeconds = (beat: number): number => (swing(beat, style) * 60) / bpm
  const playing: Playing = {
    note: (part, beat, beats, pitch, velocity) => {
      const start = Math.max(0, toSeconds(beat) + human())
      events.push({
        part,
        start,
        seconds: (beats * 60) / bpm,
        pitch,
        velocity: clamp(velocity * random.range(0.92, 1.05)),
      })
    },
    stroke: (drum, beat, velocity) => {
      strokes.push({
        drum,
        start: Math.max(0, toSeconds(beat) + 0.5 * human()),
        velocity: clamp(velocity * random.range(0.9, 1.05)),
      })
    },
  }
  playChords(context, playing)
  playBass(context, playing)
  playLead(context, playing)
  for (const bar of score) playDrums(context, bar, playing)
  return { events: events.sort((a, b) => a.start - b.start), strokes }
}

/** How much of the band plays: 0 nobody, 1 everybody. */
function intensityOf({ kind, turn }: Section): number {
  if (kind === 'intro') return 0.3
  if (kind === 'break') return 0.45
  if (kind === 'second') return 1
  if (kind === 'first') return turn === 0 ? 0.7 : 0.85
  return 0.85
}

function playChords({ style, random, tonic, score }: Context, { note }: Playing): void {
  const { beats, chords: part, pad } = style
  const pattern = random.pick(part.patterns)
  let [voices, padVoices]: [readonly number[], readonly number[]] = [[], []]
  for (const bar of score) {
    const isEnd = bar.section.kind === 'end'
    const share = beats / bar.chords.length
    for (const [i, chord] of bar.chords.entries()) {
      const from = bar.number * beats + i * share
      voices = voice(chord, tonic, part.center, voices)
      if (pad) {
        padVoices = voice(chord, tonic, pad.center, padVoices)
        const loud = 0.45 + 0.4 * intensityOf(bar.section)
        for (const pitch of padVoices) note('pad', from, isEnd ? endBars * beats : share, pitch, loud)
      }
      if (isEnd) {
        // The last chord, from the bottom up.
        for (const [n, pitch] of voices.entries()) note('chords', from + 0.06 * n, endBars * beats, pitch, 0.7)
        continue
      }
      const softness = bar.section.kind === 'intro' ? 0.75 : 1
      const steps = readSteps(pattern, i * share * stepsPerBeat, share * stepsPerBeat)
      for (const [n, { step, velocity }] of steps.entries()) {
        const beat = from + step / stepsPerBeat
        const level = velocity * softness
        if (part.arpeggio) {
          const ladder = [...voices, ...voices.map((pitch) => pitch + 12)]
          // Up and down again.
          const turn = (n + bar.index) % (2 * ladder.length - 2)
          const at = turn < ladder.length ? turn : 2 * ladder.length - 2 - turn
          note('chords', beat, part.hold, ladder[at] as number, level)
        } else for (const pitch of voices) note('chords', beat, Math.min(part.hold, share), pitch, level)
      }
    }
  }
}

function playBass({ style, random, tonic, score }: Context, { note }: Playing): void {
  const { beats, bass } = style
  const pattern = random.pick(bass.patterns)
  for (const bar of score) {
    const { kind } = bar.section
    // The bass waits for the tune, and rests in the break.
    if (
      (kind === 'intro' && bar.section.bars > 2 && bar.index < bar.section.bars - 2) ||
      (kind === 'break' && bar.index < 2)
    )
      continue
    const share = beats / bar.chords.length
    for (const [i, chord] of bar.chords.entries()) {
      const from = bar.number * beats + i * share
      const root = nearest(bass.center, (pitch) => pitch % 12 === (tonic + chord.root) % 12)
      if (kind === 'end') {
        note('bass', from, endBars * beats, root, 0.85)
        continue
      }
      const next = bar.chords[i + 1] ?? score[bar.number + 1]?.chords[0] ?? chord
      const target = nearest(root, (pitch) => pitch % 12 === (tonic + next.root) % 12)
      const signs = Array.from(pattern.slice(i * share * stepsPerBeat, (i + 1) * share * stepsPerBeat))
      const played = signs.flatMap((sign, step) => (sign === '-' ? [] : [{ sign, step }]))
      // A pattern may have nothing in the second half of a bar, but every chord needs its root.
      if (i > 0 && played[0]?.step !== 0) played.unshift({ sign: 'r', step: 0 })
      for (const [n, { sign, step }] of played.entries()) {
        const isFirst = step === 0
        const pitch =
          isFirst && sign !== '5' ? root : bassPitch(sign, root, target, n / Math.max(1, played.length), chord)
        note('bass', from + step / stepsPerBeat, Math.min(bass.hold, share), pitch, isFirst ? 0.9 : 0.75)
      }
    }
  }
}

function bassPitch(sign: string, root: number, target: number, progress: number, chord: Chord): number {
  const fifth = root + (chord.tones[2] ?? 7)
  if (sign === '5') return fifth > root + 7 ? fifth - 12 : fifth
  if (sign === '8') return root + 12
  if (sign !== 'w') return root
  // Walks through the chord, then comes to the next root from a step away.
  if (progress >= 0.7) return target + (target > root ? -1 : 1)
  const wanted = root + (target === root ? 5 : target - root) * progress + 3
  return nearest(wanted, (pitch) => chord.tones.some((tone) => (pitch - root - tone) % 12 === 0))
}

function playLead(context: Context, { note }: Playing): void {
  const { style, random, score, tonic, harmony } = context
  const { beats, lead } = style
  const motifs: Record<'first' | 'second', Motif> = {
    first: createMotif(random, lead.rhythms, beats * stepsPerBeat),
    second: createMotif(random, lead.rhythms, beats * stepsPerBeat),
  }
  for (const bar of score) {
    const { kind, turn } = bar.section
    if (kind === 'end') {
      const pitch = nearest(lead.center, (candidate) => candidate % 12 === tonic)
      note('lead', bar.number * beats, endBars * beats, pitch, 0.75)
      continue
    }
    if (kind === 'intro' || kind === 'cadence') continue
    const motif = motifs[kind === 'first' ? 'first' : 'second']
    const lift = kind === 'second' ? 3 : kind === 'break' ? -3 : 0
    for (const played of playMotif(motif, {
      bar: bar.index,
      barSteps: beats * stepsPerBeat,
      chords: bar.chords,
      tonic,
      scale: harmony.scale,
      center: lead.center + lift,
      isVaried: turn % 2 === 1,
      random,
    })) {
      const beat = bar.number * beats + played.step / stepsPerBeat
      note('lead', beat, Math.min(lead.hold, played.steps / stepsPerBeat), played.pitch, played.velocity)
    }
  }
}

function playDrums({ style, score }: Context, bar: Bar, { stroke }: Playing): void {
  const { drums, beats } = style
  if (!drums) return
  const { kind, bars } = bar.section
  const first = bar.number * beats
  if (kind === 'end') {
    stroke('kick', first, 0.9)
    stroke('crash', first, 0.5)
    return
  }
  if (kind === 'intro' && bars > 2 && bar.index < bars - 2) return
  const isLast = bar.index === bars - 1 && score[bar.number + 1] !== undefined
  const isQuiet = kind === 'intro' || kind === 'break'
  const groove: Groove = isLast && drums.fill && kind !== 'intro' ? drums.fill : isQuiet ? drums.calm : drums.full
  for (const [drum, pattern] of Object.entries(groove) as [DrumName, string][]) {
    for (const { step, velocity } of readSteps(pattern, 0, beats * stepsPerBeat))
      stroke(drum, first + step / stepsPerBeat, velocity)
  }
  const begins = bar.index === 0 && (kind === 'second' || (kind === 'first' && bar.number > 0))
  if (begins && drums.fill) stroke('crash', first, 0.45)
}

/** The strokes of a pattern from one step to another; steps count from `from`. */
function readSteps(pattern: string, from: number, count: number): { step: number; velocity: number }[] {
  return Array.from(pattern.slice(from, from + count)).flatMap((sign, step) =>
    sign === '-' ? [] : [{ step, velocity: Number(sign) / 9 }],
  )
}

/** Moves the second of each two later, and what lies between with it. */
function swing(beat: number, { swing: { place, beats } }: Style): number {
  const pair = Math.floor(beat / beats + 1e-9)
  const part = beat / beats - pair
  const moved = part < 0.5 ? part * 2 * place : place + (part - 0.5) * 2 * (1 - place)
  return (pair + moved) * beats
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0.05, value))
}
