// Music through the engine: every format and style, made again from its seed, and brought to an end on its tonic.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine, JsonObject } from '../../../src/core/engine.ts'
import { createBuiltinEngine } from '../../../src/engines/builtin/engine.ts'
import { compose } from '../../../src/engines/builtin/music/compose.ts'
import { composeFor, renderMusic } from '../../../src/engines/builtin/music/music.ts'
import { styleNames } from '../../../src/engines/builtin/music/styles.ts'
import { measureLoudness } from '../../../src/engines/builtin/sound/loudness.ts'
import { decode, findModel, hasFfmpeg, levelOf, type Made, make, peakOf, probe, readWav, watch } from './sounds.ts'

const id = 'builtin/audio/music/text-to-audio'
let engine: Engine
let root: string

beforeAll(async () => {
  engine = createBuiltinEngine({ poolSize: 1, warmUpAfterMs: null })
  root = await mkdtemp(join(tmpdir(), 'builtin-music-'))
})

afterAll(async () => {
  await engine.close()
  await rm(root, { recursive: true, force: true })
})

function play(input: JsonObject): Promise<Made> {
  return make(engine, root, id, { prompt: 'a study', ...input })
}

describe.runIf(hasFfmpeg)('decoded by ffmpeg', () => {
  test.each([
    ['wav', 'pcm_s16le'],
    ['mp3', 'mp3'],
    ['flac', 'flac'],
    ['m4a', 'aac'],
    ['ogg', 'opus'],
  ])('music as %s', { timeout: 60_000 }, async (format, codec) => {
    const { file, name } = await play({ format, duration: 6, style: 'jazz' })
    expect(name).toBe(`output.${format}`)
    const found = probe(file)
    expect(found).toMatchObject({ codec, channels: 2, sampleRate: 48_000 })
    expect(Math.abs(found.seconds - 6)).toBeLessThan(0.1)
    for (const samples of decode(file, 2)) {
      expect(levelOf(samples)).toBeGreaterThan(0.03)
      expect(peakOf(samples)).toBeLessThan(1)
    }
  })
})

test('the same seed gives the same bytes, another seed gives others', { timeout: 60_000 }, async () => {
  const input = { prompt: 'rain on a window', duration: 6, format: 'mp3' }
  const [first, again, other] = [
    await play({ ...input, seed: 3 }),
    await play({ ...input, seed: 3 }),
    await play({ ...input, seed: 4 }),
  ]
  expect(again.bytes.equals(first.bytes)).toBe(true)
  expect(other.bytes.equals(first.bytes)).toBe(false)
})

test('progress rises at least ten times', { timeout: 60_000 }, async () => {
  const progress = await watch(renderMusic, root, { prompt: 'a study', duration: 12 })
  expect(new Set(progress.map((fraction) => fraction.toFixed(3))).size).toBeGreaterThanOrEqual(10)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
})

describe('every style', () => {
  const offered = (findModel(id).inputSchema['properties'] as Record<string, { enum: string[] }>)['style']?.enum ?? []

  test('is in the schema', () => {
    expect(offered.toSorted()).toEqual(['auto', ...styleNames].toSorted())
  })

  const features = new Map<string, readonly number[]>()

  test.each(styleNames)(
    '%s: as loud as others, in stereo, and ends on its tonic',
    { timeout: 60_000 },
    async (style) => {
      const input = { prompt: 'a study', seed: 5, style, mood: 'auto', duration: 14, format: 'wav' }
      const { piece } = composeFor(input)
      const { bytes, usage } = await play(input)
      const [left = new Float32Array(0), right = new Float32Array(0)] = readWav(bytes)
      expect(usage['seconds']).toBe(14)
      expect(left.length).toBe(14 * 48_000)
      expect(Math.max(peakOf(left), peakOf(right))).toBeLessThan(0.9)
      expect(Math.abs(measureLoudness({ sampleRate: 48_000, channels: [left, right] }) + 16)).toBeLessThan(1)
      expect(levelOf(left.map((sample, i) => sample - (right[i] ?? 0)))).toBeGreaterThan(0.005)

      // The last chord is there, dies away, and is gone before the file ends.
      const end = piece.endSeconds
      expect(end).toBeGreaterThan(5)
      const levels = [end + 0.3, end + (14 - end) * 0.7, 13.9].map((from) =>
        levelOf(left, from, Math.min(14, from + 0.3)),
      )
      expect(levels[0]).toBeGreaterThan(0.01)
      expect(levels[1]).toBeLessThan((levels[0] ?? 0) * 0.6)
      expect(levels[2]).toBeLessThan(0.003)

      // Its lowest notes say the tonic; the strongest of all its notes belongs to the tonic's triad.
      const chord = left.subarray(Math.round((end + 0.6) * 48_000), Math.round((end + 1.6) * 48_000))
      const low = chroma(chord, 33, 47)
      expect(low.indexOf(Math.max(...low))).toBe(piece.tonic)
      const all = chroma(chord, 33, 76)
      expect([0, 3, 4, 7]).toContain((all.indexOf(Math.max(...all)) - piece.tonic + 12) % 12)

      features.set(style, describeSound(left, end))
    },
  )

  test('sounds unlike every other, by brightness, attacks and bass', () => {
    expect(features.size).toBe(styleNames.length)
    const all = [...features]
    for (const [i, [name, mine]] of all.entries()) {
      for (const [other, theirs] of all.slice(i + 1)) {
        const distance = Math.hypot(...mine.map((value, n) => Math.log2(value / (theirs[n] ?? 1))))
        expect(
          distance,
          `${name} and ${other}: ${mine.map((v) => v.toFixed(3)).join()} ${theirs.map((v) => v.toFixed(3)).join()}`,
        ).toBeGreaterThan(0.35)
      }
    }
  })
})

test('a piece of any length has whole bars and time to die away', () => {
  const wrong: string[] = []
  for (const style of styleNames) {
    for (const duration of [5, 7.3, 12, 19, 30, 47.1, 88, 120]) {
      for (const bpm of [null, 60, 97, 200]) {
        const piece = compose({ style, moods: new Set(), bpm, duration, seed: 'x' })
        const last = piece.sections.at(-1)
        const isWhole = last?.kind === 'end' && piece.sections.every(({ bars }) => Number.isInteger(bars) && bars > 0)
        const hasTail =
          piece.endSeconds < duration - 0.9 && piece.events.every(({ start }) => start < piece.endSeconds + 0.5)
        if (!isWhole || !hasTail || (bpm !== null && piece.bpm !== bpm)) wrong.push(`${style} ${duration} s ${bpm} bpm`)
      }
    }
  }
  expect(wrong).toEqual([])
})

test.each([
  ['lo-fi for a rainy afternoon', 'lofi'],
  ['Epic film trailer', 'cinematic'],
  ['a waltz at the fairground', 'waltz'],
  ['8-bit arcade', 'chiptune'],
  ['music to dance to in a club', 'house'],
  ['late night jazz', 'jazz'],
  ['neon drive', 'synthwave'],
  ['floating in space', 'ambient'],
])('“%s” is %s', (prompt, style) => {
  expect(composeFor({ prompt, style: 'auto', mood: 'auto', duration: 20 }).piece.style).toBe(style)
})

test('bright is major, dark is minor; calm is slower than lively', () => {
  const piece = (mood: string) => composeFor({ prompt: 'x', style: 'house', mood, duration: 60 }).piece
  expect(piece('bright').scale).toBe('major')
  expect(piece('dark').scale).toBe('minor')
  expect(piece('calm').bpm).toBeLessThan(piece('lively').bpm)
})

/** Strength of each pitch class, C first, over notes from one MIDI number to another. */
function chroma(samples: Float32Array, from: number, to: number): number[] {
  const strengths = Array.from({ length: 12 }, () => 0)
  for (let pitch = from; pitch <= to; pitch++) {
    const omega = (2 * Math.PI * 440 * 2 ** ((pitch - 69) / 12)) / 48_000
    let [real, imaginary] = [0, 0]
    for (let i = 0; i < samples.length; i++) {
      const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / samples.length)
      real += (samples[i] ?? 0) * window * Math.cos(omega * i)
      imaginary += (samples[i] ?? 0) * window * Math.sin(omega * i)
    }
    strengths[pitch % 12] = (strengths[pitch % 12] ?? 0) + real * real + imaginary * imaginary
  }
  return strengths
}

/** How bright (zero crossings a second), how many attacks a second, and the shares of bass, of what is below it, and of treble. */
function describeSound(samples: Float32Array, seconds: number): readonly number[] {
  const part = samples.subarray(0, Math.round(seconds * 48_000))
  let [crossings, low, bass, lower, sub, treble, all] = [0, 0, 0, 0, 0, 0, 0]
  const frames: number[] = []
  for (let i = 1; i < part.length; i++) {
    const [before, now] = [part[i - 1] ?? 0, part[i] ?? 0]
    if (before < 0 !== now < 0) crossings++
    low += 0.015 * (now - low)
    bass += low * low
    lower += 0.005 * (low - lower)
    sub += lower * lower
    treble += (now - before) ** 2
    all += now * now
    if (i % 960 === 0) frames.push(levelOf(part, (i - 960) / 48_000, i / 48_000))
  }
  const attacks = frames.filter((level, i) => i > 1 && level > 1.3 * Math.max(0.01, frames[i - 2] ?? 0)).length
  return [crossings / seconds, (attacks + 1) / seconds, bass / all, sub / all, treble / all]
}
