// Music as it sounds: every format and style, made again from its seed, in time, never too loud, and brought to an end.

import type { JsonObject } from '@mediagen/engine/engine.ts'
import { describe, expect, test } from 'vitest'
import { findEntry } from '../catalog/entries.ts'
import { instruments } from '../src/music/band/instruments.ts'
import { composeFor, renderMusic } from '../src/music/music.ts'
import { classesOf, toHertz } from '../src/music/score/theory.ts'
import { mix } from '../src/music/studio/mix.ts'
import { styleNames } from '../src/music/styles.ts'
import { measureLoudness } from '../src/sound/loudness.ts'
import type { Sound } from '../src/sound/sound.ts'
import { truePeakOf } from '../src/sound/true-peak.ts'
import { chroma, describeSound, estimateTempo } from './music-signal.ts'
import { decode, hasFfmpeg, levelOf, openSoundModel, peakOf, probe } from './sounds.ts'

const id = 'builtin/audio/music/text-to-audio'
const { run: play, watch } = openSoundModel(id, { prompt: 'a study' })

/** Composed and played here, without a file. */
async function hear(input: JsonObject): Promise<{ sound: Sound; left: Float32Array; piece: Piece }> {
  const { piece, duration, seed } = composeFor({ prompt: 'a study', style: 'auto', mood: 'auto', seed: 5, ...input })
  const sound = await mix(piece, duration, seed, () => {})
  return { sound, left: sound.channels[0] as Float32Array, piece }
}

type Piece = ReturnType<typeof composeFor>['piece']

describe.runIf(hasFfmpeg)('decoded by ffmpeg', () => {
  test.each([
    ['wav', 'pcm_s16le'],
    ['mp3', 'mp3'],
    ['flac', 'flac'],
    ['m4a', 'aac'],
    ['ogg', 'opus'],
  ])('music as %s', async (format, codec) => {
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

test('the same seed gives the same bytes, another seed gives others', async () => {
  const input = { prompt: 'rain on a window', duration: 6, format: 'mp3' }
  const [first, again, other] = [
    await play({ ...input, seed: 3 }),
    await play({ ...input, seed: 3 }),
    await play({ ...input, seed: 4 }),
  ]
  expect(again.bytes.equals(first.bytes)).toBe(true)
  expect(other.bytes.equals(first.bytes)).toBe(false)
})

test('the same input gives the same bytes, in every format', async () => {
  for (const format of ['wav', 'flac', 'm4a', 'ogg']) {
    const input = { prompt: 'a jingle', duration: 2, format }
    const [first, again] = [await play(input), await play(input)]
    expect(again.bytes.equals(first.bytes), format).toBe(true)
  }
})

test('progress rises at least ten times', async () => {
  const progress = await watch(renderMusic, { prompt: 'a study', duration: 12 })
  expect(new Set(progress.map((fraction) => fraction.toFixed(3))).size).toBeGreaterThanOrEqual(10)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
})

test('the schema offers every style', () => {
  const offered = (findEntry(id).input['properties'] as Record<string, { enum: string[] }>)['style']?.enum ?? []
  expect(offered.toSorted()).toEqual(['auto', ...styleNames].toSorted())
})

describe('every style', () => {
  const features = new Map<string, readonly number[]>()

  test.each(styleNames)('%s: as loud as others, in stereo, heard throughout, and home at its end', async (style) => {
    const duration = 20
    const { sound, left, piece } = await hear({ style, duration })
    const right = sound.channels[1] as Float32Array
    expect(left.length).toBe(duration * 48_000)
    expect(20 * Math.log10(truePeakOf(sound))).toBeLessThan(-1)
    expect(Math.abs(measureLoudness(sound) + 16)).toBeLessThan(1)
    expect(levelOf(left.map((sample, i) => sample - (right[i] ?? 0)))).toBeGreaterThan(0.005)
    for (const [i, { start }] of piece.sections.entries())
      expect(levelOf(left, start, piece.sections[i + 1]?.start ?? piece.endSeconds + 1)).toBeGreaterThan(0.01)

    // The last chord is there, dies away, and is gone before the file ends.
    const end = piece.endSeconds
    const levels = [end + 0.3, end + (duration - end) * 0.75, duration - 0.1].map((from) =>
      levelOf(left, from, Math.min(duration, from + 0.3)),
    )
    expect(levels[0]).toBeGreaterThan(0.01)
    expect(levels[1]).toBeLessThan((levels[0] ?? 0) * 0.6)
    expect(levels[2]).toBeLessThan(0.003)

    // Its lowest notes say the tonic; the strongest of all its notes belongs to its chord.
    const chord = left.subarray(Math.round((end + 0.4) * 48_000), Math.round((end + 1.4) * 48_000))
    const low = chroma(chord, 28, 47)
    expect(low.indexOf(Math.max(...low))).toBe(piece.tonic)
    const all = chroma(chord, 28, 76)
    const last = piece.bars.at(-1)?.slots[0]
    expect(last && classesOf(last)).toContain(all.indexOf(Math.max(...all)))
    features.set(style, describeSound(left, end))
  })

  test('sounds unlike every other, by brightness, attacks and bass', () => {
    expect(features.size).toBe(styleNames.length)
    const all = [...features]
    for (const [i, [name, mine]] of all.entries()) {
      for (const [other, theirs] of all.slice(i + 1)) {
        const apart = Math.hypot(...mine.map((value, n) => Math.log2(value / (theirs[n] ?? 1))))
        expect(apart, `${name} and ${other}`).toBeGreaterThan(0.35)
      }
    }
  })
})

const tempi = [
  ['house', 122],
  ['synthwave', 100],
  ['funk', 108],
  ['dnb', 174],
  ['chiptune', 140],
  ['lofi', 80],
] as const

test.each(tempi)('%s at %i beats a minute has that tempo in its sound', async (style, bpm) => {
  const { left } = await hear({ style, bpm, duration: 24 })
  const found = estimateTempo(left)
  // In halves and doubles, as every ear may hear it.
  const off = [0.5, 1, 2].map((factor) => Math.abs((found * factor) / bpm - 1))
  expect(Math.min(...off), `found ${found}`).toBeLessThan(0.02)
})

test.each([
  [1, null],
  [1.5, 40],
  [3, 200],
  [5, 47],
  [5.5, 40],
] as const)('%s seconds at %s beats a minute are a jingle that ends', async (duration, bpm) => {
  for (const style of ['jazz', 'cinematic', 'house', 'chamber']) {
    const { sound, left, piece } = await hear({ style, duration, ...(bpm === null ? {} : { bpm }) })
    const end = piece.endSeconds
    expect(left.length).toBe(duration * 48_000)
    expect(20 * Math.log10(truePeakOf(sound))).toBeLessThan(-1)
    expect(end).toBeGreaterThan(0.25 * duration)
    expect(levelOf(left, 0, end)).toBeGreaterThan(0.01)
    expect(levelOf(left, end + 0.05, end + 0.3)).toBeGreaterThan(0.02)
    expect(levelOf(left, duration - 0.03)).toBeLessThan(0.003)
  }
})

// Those with two waves or more beat on purpose.
const tuned = [
  ...(['nylonGuitar', 'steelGuitar', 'electricGuitar', 'harp', 'mandolin', 'fingerBass', 'slapBass'] as const),
  ...(['piano', 'electricPiano', 'vibraphone', 'marimba', 'flute', 'clarinet', 'violin', 'organ'] as const),
]

test('strings, mallets and winds are in tune', () => {
  const wrong = tuned.flatMap((name) =>
    [45, 60, 74].flatMap((pitch) => {
      const samples = instruments[name]({ hertz: toHertz(pitch), seconds: 0.6, velocity: 0.7, seed: 3 }).subarray(
        4800,
        24_000,
      )
      // The strongest of the frequencies around the note, in steps of four cents.
      const cents = Array.from({ length: 21 }, (_, i) => 4 * (i - 10))
      const strengths = cents.map((off) =>
        chroma(samples, pitch + off / 100, pitch + off / 100).reduce((a, b) => a + b),
      )
      const found = cents[strengths.indexOf(Math.max(...strengths))] ?? 99
      return Math.abs(found) > 16 ? [`${name} ${pitch}: ${found} cents`] : []
    }),
  )
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
  ['Bossa nova, at sunset', 'bossa'],
  ['a funky groove', 'funk'],
  ['Drum & Bass, dark', 'dnb'],
  ['songs around the campfire', 'folk'],
  ['a string quartet for a wedding', 'chamber'],
  ['dub echoes on the island', 'reggae'],
  ['jazz for a game', 'jazz'],
])('“%s” is %s', (prompt, style) => {
  expect(composeFor({ prompt, style: 'auto', mood: 'auto', duration: 20 }).piece.style).toBe(style)
})

test('bright is major, dark is minor; calm is slower than lively', () => {
  const piece = (mood: string): Piece => composeFor({ prompt: 'x', style: 'house', mood, duration: 60 }).piece
  expect(piece('bright').scale).toBe('major')
  expect(piece('dark').scale).toBe('minor')
  expect(piece('calm').bpm).toBeLessThan(piece('lively').bpm)
})

test('an instrument that the prompt names plays the tune', () => {
  const { piece } = composeFor({ prompt: 'slow bossa nova with a trumpet', style: 'auto', mood: 'auto', duration: 20 })
  expect(piece.parts.find(({ role }) => role === 'lead')?.instrument).toBe('brass')
})
