// The tune of a piece: motifs over its bars, phrase by phrase, and what answers it where it rests.

import type { Random } from '../../art/random.ts'
import type { AnswerPlayer, LeadPlayer } from '../style.ts'
import type { Bar, Slot } from './bars.ts'
import { phraseBars, type SectionKind } from './form.ts'
import { sing, type Wish } from './melody.ts'
import { choosePlans, createMotif, develop, type Motif, type PhrasePlans, type Turn } from './motif.ts'
import type { ScoreNote } from './note.ts'
import { nearest } from './theory.ts'

const stepsPerBeat = 4
/** Semitones that a step of the scale takes, on average. */
const scaleStep = 12 / 7

/** Two motifs and what is done with them; made once for a piece. */
export interface Theme {
  readonly verse: Motif
  readonly chorus: Motif
  readonly plans: PhrasePlans
}

/** Invents the theme of a piece. */
export function createTheme(player: LeadPlayer, beats: number, random: Random): Theme {
  const [first, second = first] = random.shuffle(player.rhythms)
  const barSteps = beats * stepsPerBeat
  const motif = (rhythm: string | undefined): Motif => createMotif(random, rhythm ?? '', barSteps)
  return { verse: motif(first), chorus: motif(second), plans: choosePlans(random) }
}

/** The whole tune, bar after bar; it ends on the tonic. */
export function writeTune(player: LeadPlayer, theme: Theme, bars: readonly Bar[]): ScoreNote[] {
  const notes: ScoreNote[] = []
  for (let first = 0; first < bars.length;) {
    const { section, index } = bars[first] as Bar
    const count = section.kind === 'ending' ? section.bars : Math.min(phraseBars, section.bars - index)
    const phrase = bars.slice(first, first + count)
    const { kind } = section
    const center = player.center + registerOf(kind, section.turn)
    if (kind === 'ending') notes.push(...writeEnding(phrase, center, notes.at(-1)?.pitch))
    else if (isSung(kind, section.energy, player)) {
      const next = bars[first + count]
      const isLast = next === undefined || next.section !== section
      const wishes = writePhrase(theme, phrase, center, isLast ? 'full' : 'open')
      notes.push(...sing(wishes, center, notes.at(-1)?.pitch))
    }
    first += count
  }
  return notes.map((note) => ({ ...note, beats: Math.min(note.beats, player.hold) }))
}

/** What is played where the tune rests: the end of what was just heard, from elsewhere and turned over. */
export function writeAnswers(player: AnswerPlayer, tune: readonly ScoreNote[], bars: readonly Bar[]): ScoreNote[] {
  return bars
    .flatMap((bar) => {
      if (bar.section.kind === 'ending' || bar.energy < (player.energy?.[0] ?? 0.5)) return []
      const heard = tune.filter(({ beat }) => beat < bar.beat + bar.beats && beat >= bar.beat - bar.beats)
      const last = heard.at(-1)
      const from = bar.beat + Math.ceil(bar.beats / 2)
      // It waits until the tune has ended or holds its last note.
      if (!last || last.beat > from - 1) return []
      const model = heard.slice(-4)
      const rests = bar.beat + bar.beats - from
      const wishes = model.flatMap((note, i): Wish[] => {
        const beat = from + Math.min(i * 0.5, note.beat - (model[0] as ScoreNote).beat)
        if (beat >= bar.beat + bar.beats - 0.25 || i * 0.5 >= rests) return []
        const pitch = player.center - (note.pitch - last.pitch)
        const velocity = 0.8 * note.velocity
        return [{ beat, beats: 0.5, pitch, velocity, slot: slotAt(bar, beat), isStrong: i % 2 === 0 }]
      })
      const distinct = wishes.filter(({ beat }, i) => beat > (wishes[i - 1]?.beat ?? -1))
      return distinct.length < 2 ? [] : sing(distinct, player.center)
    })
    .map((note) => ({ ...note, beats: Math.min(player.hold, 2 * note.beats) }))
}

function isSung(kind: SectionKind, energy: number, player: LeadPlayer): boolean {
  if (player.isAlways) return true
  const [least, most] = player.energy ?? [0.45, 1]
  return kind !== 'intro' && kind !== 'build' && energy >= least && energy <= most
}

/** Choruses lie higher, breaks and what comes first lower. */
function registerOf(kind: SectionKind, turn: number): number {
  if (kind === 'chorus') return 3
  if (kind === 'bridge') return turn % 2 === 0 ? 2 : -1
  return kind === 'break' ? -3 : 0
}

function writePhrase(theme: Theme, phrase: readonly Bar[], center: number, close: 'open' | 'full'): Wish[] {
  const { kind, turn } = (phrase[0] as Bar).section
  const isChorus = kind === 'chorus'
  const plans = kind === 'bridge' ? theme.plans.bridge : isChorus ? theme.plans.chorus : theme.plans.verse
  // Heard again, a motif is taken elsewhere: in long sections, and from one to the next.
  const round = turn + Math.floor((phrase[0] as Bar).index / phraseBars)
  const plan = plans[round % plans.length] as readonly Turn[]
  const motif = isChorus ? theme.chorus : theme.verse
  return phrase.flatMap((bar, i) => {
    const isLast = i === phrase.length - 1
    const asked = plan[i % plan.length] as Turn
    const notes = develop(motif, isLast ? { ...asked, close } : asked)
    // Phrases rise to their third bar and fall.
    const swell = [0.92, 0.98, 1.06, 0.94][i % 4] as number
    return notes.map((note, n): Wish => {
      const beat = bar.beat + note.step / stepsPerBeat
      const isClosing = isLast && n === notes.length - 1
      return {
        beat,
        beats: note.steps / stepsPerBeat,
        pitch: center + note.height * scaleStep,
        velocity: note.velocity * swell,
        slot: slotAt(bar, beat),
        isStrong: note.step % strongSteps(bar) === 0 || note.steps >= 6,
        ...(isClosing ? { close } : {}),
      }
    })
  })
}

/** Down to the tonic: a note for the cadence's chord, then home. */
function writeEnding(bars: readonly Bar[], center: number, before?: number): ScoreNote[] {
  const [cadence, end] = [bars.at(-2), bars.at(-1) as Bar]
  const endSlot = end.slots[0] as Slot
  // The tonic that is next to where the tune was.
  const home = nearest(before ?? center, endSlot.tonic)
  const last = { beat: end.beat, beats: end.beats, pitch: home, velocity: 0.8 }
  if (!cadence) return [last]
  const wishes = cadence.slots.map((slot, i): Wish => ({
    beat: slot.beat,
    beats: slot.beats,
    pitch: home + 2 + 2 * (cadence.slots.length - 1 - i),
    velocity: 0.7,
    slot,
    isStrong: true,
    close: 'open',
  }))
  return [...sing(wishes, center, before), last]
}

/** In common time the first and the third beat are strong, in three-four time the first. */
function strongSteps({ beats }: Bar): number {
  return (beats === 4 ? 2 : beats) * stepsPerBeat
}

function slotAt(bar: Bar, beat: number): Slot {
  return (bar.slots.findLast((slot) => slot.beat <= beat + 1e-6) ?? bar.slots[0]) as Slot
}
