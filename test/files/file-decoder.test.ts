// AAC and Vorbis decoded without FFmpeg: the samples that FFmpeg itself decodes, as many and in their order.
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ADTS, FilePathSource, Input, MP4, OGG } from 'mediabunny'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decodeWithFileDecoder } from '../../src/files/media/probe/file-decoder.ts'
import { ffmpeg, makeSound, runFfmpeg } from './recordings.ts'

if (!ffmpeg)
  console.warn(
    'SKIPPED in test/assets/file-decoder.test.ts: no FFmpeg on this machine. Install it (apt-get install ffmpeg).',
  )

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mediagen-file-decoder-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

async function decodeAll(
  path: string,
  seconds = 1000,
): Promise<{ samples: Float32Array; pieces: number[]; rate: number }> {
  using input = new Input({ formats: [MP4, OGG, ADTS], source: new FilePathSource(path) })
  const track = await input.getPrimaryAudioTrack()
  if (!track) throw new Error('no sound')
  const pieces: Float32Array[] = []
  let rate = 0
  await decodeWithFileDecoder(track, seconds, (samples, sampleRate) => {
    pieces.push(samples)
    rate = sampleRate
  })
  const all = new Float32Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return { samples: all, pieces: pieces.map(({ length }) => length), rate }
}

test('M4A of the built-in engines: silence and a tone, at their loudness', async () => {
  const { samples, rate } = await decodeAll(await makeSound(folder, 'm4a'))
  expect(rate).toBe(48_000)
  expect(samples.length / rate).toBeCloseTo(3, 1)
  const loudest = (from: number, to: number) =>
    samples.subarray(from * rate, to * rate).reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)
  expect(loudest(0, 1.4)).toBeLessThan(0.01)
  expect(loudest(1.7, 2.9)).toBeGreaterThan(0.75)
  expect(loudest(1.7, 2.9)).toBeLessThan(0.85)
})

test('opening files leaves this process as it was', async () => {
  const path = await makeSound(folder, 'm4a', 1)
  await decodeAll(path)
  const before = ['uncaughtException', 'unhandledRejection'].map((name) => process.listenerCount(name))
  const opening = [decodeAll(path), decodeAll(path)]
  expect(globalThis.process.pid).toBeGreaterThan(0)
  await Promise.all(opening)
  expect(['uncaughtException', 'unhandledRejection'].map((name) => process.listenerCount(name))).toEqual(before)
})

describe.skipIf(!ffmpeg)('beside FFmpeg', () => {
  // Tones that come and go, noise, and clicks: long and short windows, and what is only said to be noise.
  const sound = `-f lavfi -i aevalsrc=0.4*sin(2*PI*440*t)*gt(mod(t\\,0.5)\\,0.2)+0.2*random(0)*lt(mod(t\\,0.7)\\,0.02):d=SECONDS:s=RATE`

  // Name, seconds, samples a second, channels, FFmpeg's options, how many samples players drop at the beginning. One is
  // longer than a piece.
  test.each([
    ['stereo.m4a', 65, 44_100, 2, '-c:a aac', 1024],
    ['mono.aac', 5, 48_000, 1, '-c:a aac', 0],
    ['six.m4a', 5, 48_000, 6, '-c:a aac', 1024],
    ['slow.m4a', 5, 16_000, 1, '-b:a 32k -c:a aac', 1024],
    ['stereo.ogg', 5, 44_100, 2, '-c:a libvorbis', -128],
  ] as const)('%s', async (name, seconds, rate, channels, options, dropped) => {
    const path = join(folder, name)
    runFfmpeg(
      `${sound.replace('SECONDS', String(seconds)).replace('RATE', String(rate))} -ac ${channels} ${options} ${path}`,
    )
    const ours = await decodeAll(path)
    expect(ours.rate).toBe(rate)
    expect(ours.pieces).toHaveLength(seconds > 60 ? 2 : 1)
    const theirs = decodeWithFfmpeg(path, channels)
    expect(Math.abs(ours.samples.length - theirs.length)).toBeLessThan(4096)
    expect(
      agreement(theirs, ours.samples.subarray(Math.max(0, dropped), ours.pieces[0]), Math.max(0, -dropped)),
    ).toBeGreaterThan(90)
  })
})

/** Decodes to the mean of all channels. */
function decodeWithFfmpeg(path: string, channels: number): Float32Array {
  const mean = Array.from({ length: channels }, (_, channel) => `${1 / channels}*c${channel}`).join('+')
  const options = ['-v', 'error', '-i', path, '-af', `pan=mono|c0=${mean}`, '-f', 'f32le', '-']
  const bytes = execFileSync(ffmpeg?.ffmpeg ?? '', options, { maxBuffer: 1e8 })
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
}

/** How far a sound is the same as another from a sample on, in decibels; infinite where it is the same. */
function agreement(expected: Float32Array, samples: Float32Array, from: number): number {
  let [loud, wrong] = [0, 0]
  // The end of the last packet, which players drop, is not in what is expected.
  for (let at = 0; at < Math.min(samples.length, expected.length - from); at++) {
    const value = expected[at + from] ?? 0
    loud += value ** 2
    wrong += (value - (samples[at] ?? 0)) ** 2
  }
  return 10 * Math.log10(loud / wrong)
}
