// Music before it sounds: theory, voice leading, forms, tempo, tunes and their endings, for every style.

import { describe, expect, test } from 'vitest'
import { readLine } from '../src/music/score/bars.ts'
import { compose, type Piece, type PieceOptions } from '../src/music/score/compose.ts'
import { planForm } from '../src/music/score/form.ts'
import { createClock, intoReach } from '../src/music/score/tempo.ts'
import { classesOf, parseChord, scaleOver, toClass } from '../src/music/score/theory.ts'
import { layOut, motion } from '../src/music/score/voicing.ts'
import type { Style } from '../src/music/style.ts'
import { styleNames, styles } from '../src/music/styles.ts'

const every: readonly [string, Style][] = Object.entries(styles)
const straight = { place: 0.5, beats: 1 } as const

function write(options: Partial<PieceOptions>): Piece {
  return compose({ style: 'folk', moods: new Set(), lead: null, bpm: null, duration: 30, seed: 'x', ...options })
}

/** The notes of those who have a role, as they sound. */
function notesOf(piece: Piece, role: string): Piece['events'] {
  return piece.events.filter(({ part }) => piece.parts[part]?.role === role)
}

describe('chords', () => {
  test.each([
    ['I', 0, [0, 4, 7]],
    ['vi7', 9, [0, 3, 7, 10]],
    ['bVII', 10, [0, 4, 7]],
    ['IVmaj9', 5, [0, 4, 7, 11, 14]],
    ['iiø7', 2, [0, 3, 6, 10]],
    ['viio7', 11, [0, 3, 6, 9]],
    ['V9sus4', 7, [0, 5, 7, 10, 14]],
    ['V7/ii', 9, [0, 4, 7, 10]],
    ['V7/bIII', 10, [0, 4, 7, 10]],
    ['#ivo7', 6, [0, 3, 6, 9]],
  ])('%s', (written, root, tones) => {
    expect(parseChord(written)).toEqual({ root, tones })
  })

  test('what no musician writes is refused by its text', () => {
    expect(() => parseChord('Vmaj13x')).toThrow('Vmaj13x')
  })

  test('the dominant of a minor key raises its seventh, and takes it out of the scale', () => {
    const scale = scaleOver({ chord: parseChord('V7'), tonic: 9, scale: 'minor' })
    expect(scale).toContain(8)
    expect(scale).not.toContain(7)
  })

  test('of every style can be read, and every cadence ends on its tonic', () => {
    const wrong = every.flatMap(([name, { bright, dark }]) =>
      [bright, dark].flatMap(({ verse, chorus, bridge, cadence }) => {
        const lines = [...verse, ...chorus, ...bridge].map(readLine)
        const [leading, last] = cadence
        const ends =
          parseChord(last).root === 0 &&
          readLine(leading)
            .flat()
            .every(({ root }) => root !== 0)
        return ends && lines.every(({ length }) => length % 4 === 0) ? [] : [name]
      }),
    )
    expect(wrong).toEqual([])
  })
})

test('voices move little from chord to chord, and stay in their range', () => {
  const layout = { center: 60, voices: 4, isRootless: false }
  const moves: number[] = []
  for (const [, { bright, dark }] of every) {
    for (const { verse, chorus, scale } of [bright, dark]) {
      for (const line of [...verse, ...chorus]) {
        let before: number[] = []
        for (const chord of readLine(line).flat()) {
          const voices = layOut({ chord, tonic: 4, scale }, layout, before)
          expect(voices.length).toBeGreaterThanOrEqual(3)
          expect(Math.abs(voices.reduce((sum, pitch) => sum + pitch, 0) / voices.length - 60)).toBeLessThan(10)
          if (before.length > 0) moves.push(motion(before, voices) / voices.length)
          before = voices
        }
      }
    }
  }
  // Root position throughout moves each voice by about four semitones.
  expect(moves.reduce((sum, move) => sum + move, 0) / moves.length).toBeLessThan(2)
  expect(Math.max(...moves)).toBeLessThan(5)
})

test('sections add up to the bars of a piece, whatever their number', () => {
  for (const form of ['song', 'standard', 'dance', 'flow'] as const) {
    for (let bars = 1; bars <= 200; bars++) {
      const sections = planForm(bars, form, 2)
      expect(sections.reduce((sum, section) => sum + section.bars, 0)).toBe(bars)
      expect(sections.every((section) => section.bars > 0 && section.energy > 0 && section.energy <= 1)).toBe(true)
    }
  }
})

test('two minutes have an introduction, a tune, another, and something between; the last time may be higher', () => {
  for (const form of ['song', 'standard', 'dance', 'flow'] as const) {
    const kinds = planForm(48, form, 2).map(({ kind }) => kind)
    expect(kinds).toEqual(expect.arrayContaining(['intro', 'verse', 'chorus']))
    expect(kinds.some((kind) => ['bridge', 'break', 'build'].includes(kind))).toBe(true)
  }
  expect(planForm(48, 'song', 2).at(-1)?.lift).toBe(2)
  expect(planForm(48, 'song', 2)[0]?.lift).toBe(0)
})

test('time: beats are even, swing pulls the second of two back, slowing makes the last ones longer', () => {
  const even = createClock(120, straight, { from: 8, to: 12, by: 0 })
  expect([0, 1, 5.5, 12].map(even)).toEqual([0, 0.5, 2.75, 6])
  const swung = createClock(120, { place: 2 / 3, beats: 1 }, { from: 0, to: 0, by: 0 })
  expect(swung(0.5)).toBeCloseTo(1 / 3)
  expect(swung(1)).toBeCloseTo(0.5)
  const slowing = createClock(120, straight, { from: 8, to: 12, by: 0.4 })
  expect(slowing(8)).toBeCloseTo(4)
  expect(slowing(12)).toBeCloseTo(4 + 2 * 1.2)
  expect(slowing(11) - slowing(10)).toBeGreaterThan(slowing(9) - slowing(8))
})

test('far from its own tempo a style is felt in halves or doubles', () => {
  expect(intoReach(87, 170, 178)).toBe(174)
  expect(intoReach(200, 58, 74)).toBe(100)
  expect(intoReach(120, 118, 126)).toBe(120)
})

describe('every style at every length and tempo', () => {
  const durations = [1, 1.7, 2.5, 4, 5, 5.5, 6, 8, 12, 19, 30, 47.1, 88, 120]
  const tempos = [null, 40, 47, 60, 97, 140, 200]

  test.each(styleNames)('%s: a last chord on the tonic, time to hear it, and nothing after it', (style) => {
    const wrong: string[] = []
    for (const duration of durations) {
      for (const bpm of tempos) {
        const piece = write({ style, duration, bpm, seed: `${duration}` })
        const end = piece.endSeconds
        const last = piece.events.filter(({ start }) => start > end - 0.05)
        const lowest = Math.min(...last.map(({ pitch }) => pitch))
        const tune = notesOf(piece, 'lead').at(-1)
        const isHome = toClass(lowest) === piece.tonic && tune !== undefined && toClass(tune.pitch) === piece.tonic
        const isHeard = duration - end >= Math.min(0.4, 0.3 * duration) && tune !== undefined && tune.start > end - 0.05
        const isLed = piece.events.some(({ start }) => start < end - 0.05)
        const isWhole = piece.events.every(
          ({ start, seconds }) => start + seconds <= duration + 0.5 || start > end - 0.05,
        )
        const octaves = bpm === null ? 0 : Math.log2(piece.bpm / bpm)
        const isInTime = Math.abs(octaves - Math.round(octaves)) < 1e-9
        if (!isHome || !isHeard || !isLed || !isWhole || !isInTime || piece.sections.at(-1)?.kind !== 'ending')
          wrong.push(`${duration} s ${bpm} bpm`)
      }
    }
    expect(wrong).toEqual([])
  })

  test.each(styleNames)('%s: the tune sings, with tones of the chord on strong beats', (style) => {
    let [strong, fitting, leaps, steps] = [0, 0, 0, 0]
    for (const seed of ['a', 'b', 'c']) {
      const piece = write({ style, duration: 60, seed })
      const tune = notesOf(piece, 'lead').filter(({ start }) => start < piece.endSeconds - 0.1)
      expect(tune.length).toBeGreaterThan(8)
      for (const [i, note] of tune.entries()) {
        const before = tune[i - 1]
        if (before && note.start - before.start < 2) {
          const size = Math.abs(note.pitch - before.pitch)
          expect(size).toBeLessThanOrEqual(14)
          if (size > 7) leaps++
          else steps++
        }
      }
      // On the first beat of each bar, where time has not begun to swing or slow down.
      const second = 60 / piece.bpm
      for (const { slots, beat, section } of piece.bars.filter(({ section }) => section.kind !== 'ending')) {
        const note = tune.find(({ start }) => Math.abs(start - beat * second) < 0.06)
        const slot = slots[0]
        if (!note || !slot || section.kind === 'ending') continue
        strong++
        if (classesOf(slot).includes(toClass(note.pitch))) fitting++
      }
    }
    expect(fitting / strong).toBeGreaterThan(0.95)
    expect(leaps / (leaps + steps)).toBeLessThan(0.08)
  })

  test.each(styleNames)('%s: motifs come back', (style) => {
    const piece = write({ style, duration: 90 })
    const second = 60 / piece.bpm
    const rhythms = piece.bars.map((bar) => {
      const until = (bar.beat + bar.beats) * second
      const inBar = notesOf(piece, 'lead').filter(
        ({ start }) => start > bar.beat * second - 0.06 && start < until - 0.06,
      )
      return inBar.map(({ start }) => Math.round(((start - bar.beat * second) / second) * 4)).join(' ')
    })
    const sung = rhythms.filter((rhythm) => rhythm !== '')
    expect(new Set(sung).size).toBeGreaterThan(2)
    expect(new Set(sung).size).toBeLessThan(0.7 * sung.length)
  })
})

test('styles are written for different bands, tempos and grooves', () => {
  const bands = every.map(([, { parts, drums, bpm }]) =>
    [...parts.map(({ role, instrument }) => `${role} ${instrument}`), JSON.stringify(drums?.verse), bpm.join()].join(),
  )
  expect(new Set(bands).size).toBe(every.length)
  expect(new Set(every.flatMap(([, { parts }]) => parts.map(({ instrument }) => instrument))).size).toBeGreaterThan(30)
})

test('drum patterns fill bars, and no two seeds play the same piece', () => {
  for (const [name, { drums, beats, parts }] of every) {
    const lines = drums ? [drums.calm, drums.verse, drums.chorus].flatMap((groove) => Object.values(groove)) : []
    const patterns = parts.flatMap((part) =>
      'patterns' in part ? part.patterns : 'rhythms' in part ? part.rhythms : [],
    )
    for (const line of [...lines, ...patterns]) expect(line.length % (4 * beats), `${name} ${line}`).toBe(0)
  }
  for (const style of styleNames) {
    const tunes = ['1', '2', '3', '4'].map((seed) => JSON.stringify(write({ style, seed }).events))
    expect(new Set(tunes).size).toBe(4)
  }
})
