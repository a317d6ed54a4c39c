// Films through the engine: every model in every format, decoded by another decoder; exact in size, frames and time.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine, JsonObject } from '@mediagen/engine/engine.ts'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createBuiltinEngine } from '../src/engine.ts'
import { openFilm } from '../src/film/film.ts'
import { narrate } from '../src/narrated/narration.ts'
import {
  decodeFrames,
  deviationOf,
  differ,
  filmMaker,
  inspectFilm,
  findProgram,
  listBoxes,
  paintPicture,
} from './films.ts'
import { decode, hasFfmpeg, levelOf } from './sounds.ts'

const size = { width: 160, height: 90 }
const story = { title: 'Evening', text: 'The last train leaves at ten. Nobody is late.' }
const ffmpeg = findProgram('ffmpeg')
let engine: Engine
let root: string
let pictures: string[]
const film = filmMaker(
  () => engine,
  () => root,
)

beforeAll(async () => {
  engine = createBuiltinEngine({ poolSize: 2 })
  root = await mkdtemp(join(tmpdir(), 'builtin-film-'))
  pictures = await Promise.all([
    paintPicture(root, 'wide', 400, 200),
    paintPicture(root, 'tall', 120, 300),
    paintPicture(root, 'tiny', 20, 20),
  ])
})

afterAll(async () => {
  await engine.close()
  await rm(root, { recursive: true, force: true })
})

const formats = {
  mp4: { codec_name: 'h264', profile: 'Constrained Baseline', color_space: 'bt709', audio: 'aac', container: 'mp4' },
  webm: { codec_name: 'vp8', profile: '0', color_space: 'smpte170m', audio: 'opus', container: 'webm' },
} as const
const both = ['mp4', 'webm'] as const
const silent: readonly (readonly [string, JsonObject, number])[] = [
  ['kenburns/image-to-video', { duration: 1 }, 25],
  ['slideshow/images-to-video', { seconds_each: 1, transition_seconds: 0.4, captions: ['Ωmega 東京 🎉'] }, 75],
  ['motion/text-to-video', { prompt: 'Make something.', style: 'type', duration: 1.2 }, 30],
]

describe.runIf(hasFfmpeg)('decoded by ffmpeg', () => {
  describe.each(both)('%s', (format) => {
    test.each(silent)('%s', async (id, input, frames) => {
      const used = id.startsWith('kenburns') ? pictures.slice(0, 1) : id.startsWith('slideshow') ? pictures : []
      const { file, name, bytes, usage, progress } = await film(id, { ...input, ...size, format }, used)
      const { audio: _sound, container, ...expected } = formats[format]
      const facts = inspectFilm(file)
      expect(name).toBe(`output.${format}`)
      expect(facts.container).toContain(container)
      expect(facts.audio).toBeUndefined()
      expect(facts.video).toMatchObject({
        ...expected,
        ...size,
        pix_fmt: 'yuv420p',
        color_range: 'tv',
        color_primaries: 'bt709',
        r_frame_rate: '25/1',
        avg_frame_rate: '25/1',
        nb_read_frames: String(frames),
      })
      expect(facts.seconds).toBeCloseTo(frames / 25, 3)
      expect(usage['seconds']).toBeCloseTo(frames / 25, 6)
      if (format === 'mp4') expect(listBoxes(bytes).slice(0, 2)).toEqual(['ftyp', 'moov'])
      expect(progress).toEqual(progress.toSorted((a, b) => a - b))
      const [first, ...rest] = decodeFrames(file, size.width, size.height)
      expect(deviationOf(first as Buffer)).toBeGreaterThan(id.startsWith('motion') ? 0 : 10)
      // Never black, nor the same to the end.
      expect(Math.max(...rest.map((frame) => differ(frame, first as Buffer)))).toBeGreaterThan(1)
      for (const frame of rest) expect(frame.some((value) => value > 60)).toBe(true)
    })

    test('narrated/text-to-video: the voice is there, and in time with the captions', async () => {
      const { file, usage } = await film('narrated/text-to-video', { ...story, ...size, format })
      const { video, audio, seconds } = inspectFilm(file)
      const told = await narrate(story.title, story.text, true, { voice: 'slt', speed: 1 })
      const frames = Math.round(told.seconds * 25)
      expect(video).toMatchObject({ codec_name: formats[format].codec_name, nb_read_frames: String(frames) })
      expect(audio).toMatchObject({ codec_name: formats[format].audio, sample_rate: '48000', channels: 1 })
      expect(usage['seconds']).toBeCloseTo(frames / 25, 6)
      expect(Math.abs(seconds - frames / 25)).toBeLessThan(0.04)

      const [heard = new Float32Array()] = decode(file, 1)
      const [said = new Float32Array()] = told.sound.channels
      expect(Math.abs(findLag(said, heard))).toBeLessThan(0.002 * 48_000)
      const words = told.pages.flat()
      expect(words.map(({ text }) => text).join(' ')).toBe(story.text)
      for (const { start, end } of words) expect(levelOf(heard, start, end)).toBeGreaterThan(0.02)
      const pause = told.pages[1]?.[0]?.start ?? 0
      expect(levelOf(heard, pause - 0.12, pause - 0.06)).toBeLessThan(0.01)
      expect(levelOf(heard, seconds - 0.5, seconds - 0.1)).toBeLessThan(0.001)
    })

    test.each(['what ships', 'an ffmpeg of the machine'])('by %s, colours are what they were', async (way) => {
      const file = join(root, `colours-${way.length}.${format}`)
      const colors = [
        [200, 30, 40],
        [30, 190, 60],
        [20, 40, 230],
        [128, 128, 128],
        [255, 255, 255],
        [0, 0, 0],
      ] as const
      const [width, height] = [32 * colors.length, 32]
      const pixels = Uint8Array.from({ length: width * height * 4 }, (_, i) => {
        const color = colors[Math.floor(((i >> 2) % width) / 32)]
        return color?.[i & 3] ?? 255
      })
      const options = { width, height, fps: 25, frames: 3, sound: null, format, file }
      await using made = await openFilm({ ...options, ffmpeg: way === 'what ships' ? null : ffmpeg })
      for (let i = 0; i < 3; i++) await made.addFrame(pixels)
      await made.close()
      const frame = decodeFrames(file, width, height)[2] as Buffer
      for (const [i, color] of colors.entries()) {
        const at = (16 * width + 32 * i + 16) * 3
        for (const c of [0, 1, 2]) expect(Math.abs((frame[at + c] ?? 0) - (color[c] ?? 0))).toBeLessThan(8)
      }
    })
  })

  test.each(['gradient', 'particles', 'tiles', 'landscape', 'waves'])(
    'motion graphics: %s moves evenly and begins again without a seam',
    async (style) => {
      const input = { prompt: 'a study', style, duration: 2, width: 96, height: 64 }
      const { file } = await film('motion/text-to-video', input)
      const frames = decodeFrames(file, 96, 64)
      const steps = frames.map((frame, i) => differ(frame, frames[(i + 1) % frames.length] as Buffer))
      const sorted = steps.toSorted((a, b) => a - b)
      expect(deviationOf(frames[0] as Buffer)).toBeGreaterThan(4)
      expect(sorted[Math.floor(steps.length / 2)]).toBeGreaterThan(0.05)
      // The step over the seam is one like the others.
      expect(steps.at(-1)).toBeLessThan(1.5 * (sorted.at(-2) ?? 0) + 0.5)
    },
  )

  test.each(['crossfade', 'slide', 'wipe', 'zoom', 'iris', 'dip'])(
    'slideshow: %s leads from one picture to the next',
    async (transition) => {
      const input = { seconds_each: 1, transition, transition_seconds: 0.5, motion: false, fit: 'cover' }
      const { file } = await film(
        'slideshow/images-to-video',
        { ...input, width: 96, height: 64 },
        pictures.slice(0, 2),
      )
      const frames = decodeFrames(file, 96, 64)
      const [first, last] = [frames[2] as Buffer, frames[47] as Buffer]
      const middle = frames.slice(23, 28)
      expect(differ(first, last)).toBeGreaterThan(2)
      for (const frame of middle) expect(Math.min(differ(frame, first), differ(frame, last))).toBeGreaterThan(0.2)
      // No jump: every step is a part of the way.
      const black = transition === 'dip' ? 60 : 0
      for (let i = 18; i < 32; i++)
        expect(differ(frames[i] as Buffer, frames[i + 1] as Buffer)).toBeLessThan(0.75 * differ(first, last) + black)
    },
  )

  test.each(both)('an ffmpeg of the machine makes the same film: %s', async (format) => {
    await using fast = createBuiltinEngineFor(ffmpeg)
    const make = filmMaker(
      () => fast.engine,
      () => root,
    )
    const { file, bytes } = await make('narrated/text-to-video', { ...story, ...size, format })
    const { video, audio, seconds } = inspectFilm(file)
    const told = await narrate(story.title, story.text, true, { voice: 'slt', speed: 1 })
    expect(video).toMatchObject({ codec_name: formats[format].codec_name, ...size, color_range: 'tv' })
    expect(video['nb_read_frames']).toBe(String(Math.round(told.seconds * 25)))
    expect(audio).toMatchObject({ codec_name: formats[format].audio })
    expect(Math.abs(seconds - told.seconds)).toBeLessThan(0.04)
    const [heard = new Float32Array()] = decode(file, 1)
    expect(Math.abs(findLag(told.sound.channels[0] ?? heard, heard))).toBeLessThan(0.002 * 48_000)
    if (format === 'mp4') expect(listBoxes(bytes).slice(0, 2)).toEqual(['ftyp', 'moov'])
    // Another encoder, not the one that ships.
    expect(video['profile']).not.toBe('Constrained Baseline')
  })
})

test.runIf(hasFfmpeg)('motion graphics with music: stereo, heard, and as long as the pictures', async () => {
  const input = { prompt: 'night drive', style: 'tiles', music: true, duration: 5, width: 64, height: 64 }
  const { file } = await film('motion/text-to-video', input)
  const { audio, seconds } = inspectFilm(file)
  expect(audio).toMatchObject({ codec_name: 'aac', channels: 2 })
  expect(Math.abs(seconds - 5)).toBeLessThan(0.04)
  const [left = new Float32Array()] = decode(file, 2)
  expect(levelOf(left, 0.5, 3)).toBeGreaterThan(0.02)
  expect(levelOf(left, 4.95, 5)).toBeLessThan(levelOf(left, 0.5, 3) / 3)
})

test('pictures that take longer to decode than a slideshow costs are refused', async () => {
  const large = join(root, 'large.png')
  await sharp({ create: { width: 8000, height: 5000, channels: 3, background: '#808080' } })
    .png()
    .toFile(large)
  const input = { width: 64, height: 64, seconds_each: 1 }
  await expect(film('slideshow/images-to-video', input, [large, large, large])).rejects.toMatchObject({
    code: 'invalid_input',
    message:
      'images have 120 megapixels together; a film of this size and length takes at most 100. Hand in smaller pictures, or ask for a larger or longer film.',
  })
  await expect(film('slideshow/images-to-video', input, [large, large])).resolves.toMatchObject({ name: 'output.mp4' })
})

test('an FFMPEG_PATH that lacks an encoder is reported and not used', async () => {
  const said: string[] = []
  await using slow = createBuiltinEngineFor(process.execPath, (words) => said.push(words))
  const make = filmMaker(
    () => slow.engine,
    () => root,
  )
  const { name } = await make('motion/text-to-video', { prompt: 'x', duration: 1, ...size })
  expect(name).toBe('output.mp4')
  expect(said).toEqual([expect.stringMatching(/^FFMPEG_PATH is not used: .*node.* cannot be run/)])
})

test.each(both)('the same input gives the same bytes, another seed gives others: %s', async (format) => {
  const input = { prompt: 'a quiet ocean', duration: 1, ...size, format }
  const made = await Promise.all([7, 7, 8].map((seed) => film('motion/text-to-video', { ...input, seed })))
  const [one, again, other] = made.map(({ bytes }) => bytes)
  expect(one?.equals(again as Buffer)).toBe(true)
  expect(one?.equals(other as Buffer)).toBe(false)
  const [told, twice] = await Promise.all(
    [1, 2].map(() => film('narrated/text-to-video', { ...story, ...size, format })),
  )
  expect(told?.bytes.equals(twice?.bytes as Buffer)).toBe(true)
  for (const [id, used] of [
    ['kenburns/image-to-video', pictures.slice(0, 1)],
    ['slideshow/images-to-video', pictures],
  ] as const) {
    const short = { ...size, format, ...(used.length === 1 ? { duration: 1 } : { seconds_each: 1 }) }
    const [first, second] = await Promise.all([1, 2].map(() => film(id, short, used)))
    expect(first?.bytes.equals(second?.bytes as Buffer), id).toBe(true)
  }
})

test('a title is left out where the film is words already, and nowhere else', async () => {
  const input = { prompt: 'make something today', seed: 1, duration: 1, ...size }
  for (const style of ['type', 'waves']) {
    const [plain, titled] = await Promise.all(
      ['', 'Today'].map((title) => film('motion/text-to-video', { ...input, style, title })),
    )
    expect(plain?.bytes.equals(titled?.bytes as Buffer)).toBe(style === 'type')
  }
})

test('the smallest and the narrowest frames, the longest words', async () => {
  const long = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'
  const sizes = [
    [64, 320],
    [64, 64],
    [320, 64],
  ] as const
  for (const [width, height] of sizes) {
    const shot = { width, height, duration: 1 }
    const made = [
      await film('motion/text-to-video', { ...shot, prompt: long, style: 'type' }),
      await film('motion/text-to-video', { ...shot, prompt: long, style: 'waves', title: long }),
      await film('kenburns/image-to-video', shot, pictures.slice(2)),
      await film('slideshow/images-to-video', { width, height, seconds_each: 1, captions: [long, long] }, pictures),
      await film('narrated/text-to-video', { width, height, title: long, text: 'One. Two.', speak_title: false }),
    ]
    expect(made.map(({ name }) => name)).toEqual(Array(5).fill('output.mp4'))
  }
})

test('what cannot be filmed is refused in words', async () => {
  const damaged = join(root, 'damaged.png')
  await writeFile(damaged, (await readFile(pictures[0] as string)).subarray(0, 900))
  const endless = await paintPicture(root, 'endless', 4040, 40)
  const refusals: readonly (readonly [string, JsonObject, readonly string[], RegExp])[] = [
    ['slideshow/images-to-video', { captions: ['a', 'b', 'c'] }, pictures.slice(0, 2), /^captions has 3 texts for 2/],
    ['slideshow/images-to-video', size, [pictures[0] as string, damaged], /^images\[1\] cannot be decoded/],
    ['kenburns/image-to-video', size, [damaged], /^image cannot be decoded/],
    ['kenburns/image-to-video', size, [endless], /^image is 4040 × 40;/],
    ['narrated/text-to-video', { ...story, text: 'Привет', ...size }, [], /^text .*П/],
    ['narrated/text-to-video', { ...story, text: '± 7 '.repeat(60), ...size }, [], /^text makes a film of \d+ seconds/],
    ['motion/text-to-video', { prompt: 'a \u{10FFFD}', style: 'type', ...size }, [], /^prompt .*10FFFD/],
    [
      'slideshow/images-to-video',
      { seconds_each: 5, fps: 30, width: 1920, height: 1920 },
      Array.from({ length: 20 }, () => pictures[0] as string),
      /can last 56 seconds, not 100/,
    ],
  ]
  for (const [id, input, used, words] of refusals)
    await expect(film(id, input, used)).rejects.toMatchObject({
      name: 'EngineError',
      message: expect.stringMatching(words),
      retryable: false,
    })
})

const lasting: readonly (readonly [string, JsonObject])[] = [
  ['kenburns/image-to-video', { duration: 6 }],
  ['slideshow/images-to-video', { seconds_each: 2 }],
  ['motion/text-to-video', { prompt: 'x', style: 'tiles', duration: 6 }],
  ['narrated/text-to-video', story],
]

test.each(lasting)('progress moves at least ten times while %s takes long', async (id, input) => {
  const used = id.startsWith('kenburns') ? pictures.slice(0, 1) : id.startsWith('slideshow') ? pictures : []
  const { progress } = await film(id, { ...input, width: 640, height: 360 }, used)
  expect(new Set(progress).size).toBeGreaterThan(9)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
})

test('a film that is cancelled ends at once, and the engine goes on', async () => {
  const controller = new AbortController()
  const running = film('motion/text-to-video', { prompt: 'x', duration: 30 }, [], controller.signal)
  setTimeout(() => controller.abort(new Error('cancelled')), 400)
  await expect(running).rejects.toThrow('cancelled')
  await expect(film('motion/text-to-video', { prompt: 'x', duration: 1, ...size })).resolves.toMatchObject({
    name: 'output.mp4',
  })
})

function createBuiltinEngineFor(ffmpegPath: string, warn: (words: string) => void = () => {}) {
  const made = createBuiltinEngine({
    poolSize: 1,
    ffmpegPath,
    logger: { warn: (_facts, words) => warn(words) },
  })
  return { engine: made, [Symbol.asyncDispose]: () => made.close() }
}

/** By how many samples one sound is later than another, as far as 30 ms; by the best match of their first words. */
function findLag(original: Float32Array, decoded: Float32Array): number {
  const [from, length, reach] = [0.35 * 48_000, 24_000, 1440]
  let [best, lag] = [-Infinity, 0]
  for (let shift = -reach; shift <= reach; shift += 4) {
    let sum = 0
    for (let i = from; i < from + length; i += 2) sum += (original[i] ?? 0) * (decoded[i + shift] ?? 0)
    if (sum > best) [best, lag] = [sum, shift]
  }
  return lag
}
