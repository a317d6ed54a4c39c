// For tests of sounds: runs a model of the catalog through the engine, and looks at what came out with Debian's ffmpeg.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine, JsonObject } from '@mediagen/engine/engine.ts'
import { usualPictureBounds } from '@mediagen/engine/media.ts'
import { runOf } from '@mediagen/engine/run-of.ts'
import { afterAll, beforeAll } from 'vitest'
import { completeInput, findEntry } from '../catalog/entries.ts'
import { createBuiltinEngine } from '../src/engine.ts'
import type { Renderer } from '../src/renderer.ts'
import { listOutputs } from './outputs.ts'

/** Whether ffmpeg and ffprobe are there; tests that decode are skipped by name without them. */
export const hasFfmpeg = ['ffmpeg', 'ffprobe'].every((tool) => spawnSync(tool, ['-version']).status === 0)
if (!hasFfmpeg) console.warn('ffmpeg is not installed: sounds will not be decoded by another decoder than ours')

/** One output of a run. */
export interface Made {
  readonly file: string
  readonly name: string
  readonly bytes: Buffer
  readonly usage: Readonly<Record<string, number>>
  /** What the process passed on. */
  readonly progress: readonly number[]
}

/** Runs a model in a new folder below `root`; `media` are the files that its input refers to. */
export async function make(
  engine: Engine,
  root: string,
  id: string,
  input: JsonObject,
  media: ReadonlyMap<string, string> = new Map(),
  signal = new AbortController().signal,
): Promise<Made> {
  const model = findEntry(id)
  const folder = await mkdtemp(join(root, 'run-'))
  const progress: number[] = []
  const onProgress = (fraction: number) => void progress.push(fraction)
  const run = runOf({ input: completeInput(model, input), media: async () => media, folder, signal, onProgress })
  const { files, usage } = await engine.run(model.engine, run)
  const [name = ''] = files
  const left = await listOutputs(folder)
  if (files.length !== 1 || left.join() !== name) throw new Error(`left ${left.join()}`)
  const file = join(folder, name)
  return { file, name, bytes: await readFile(file), usage, progress }
}

/**
 * Opens a model for the tests of a file: the engine and a folder, until the last of them has ended.
 * @param usual fields of each input
 */
export function openSoundModel(id: string, usual: JsonObject = {}) {
  let engine: Engine
  let root: string
  beforeAll(async () => {
    engine = createBuiltinEngine({ poolSize: 1 })
    root = await mkdtemp(join(tmpdir(), 'builtin-sound-'))
  })
  afterAll(async () => {
    await engine.close()
    await rm(root, { recursive: true, force: true })
  })
  return {
    run: (input: JsonObject): Promise<Made> => make(engine, root, id, { ...usual, ...input }),
    watch: (renderer: Renderer, input: JsonObject): Promise<number[]> => watch(renderer, root, input),
  }
}

/** All progress that a renderer reports; processes pass on only some of it. */
async function watch(renderer: Renderer, root: string, input: JsonObject): Promise<number[]> {
  const progress: number[] = []
  const file = join(await mkdtemp(join(root, 'watch-')), 'sound')
  await renderer({
    input,
    media: new Map(),
    bounds: usualPictureBounds,
    file,
    ffmpeg: null,
    onProgress: (fraction) => void progress.push(fraction),
  })
  return progress
}

/** What ffprobe says of the first stream. */
export function probe(file: string): { codec: string; channels: number; sampleRate: number; seconds: number } {
  const entries = 'stream=codec_name,channels,sample_rate:format=duration'
  const text = execFileSync('ffprobe', ['-v', 'error', '-show_entries', entries, '-of', 'json', file], {
    encoding: 'utf8',
  })
  const { streams, format } = JSON.parse(text) as {
    streams: { codec_name: string; channels: number; sample_rate: string }[]
    format: { duration: string }
  }
  const [stream] = streams
  if (!stream || streams.length !== 1) throw new Error(`${streams.length} streams`)
  const { codec_name: codec, channels, sample_rate: rate } = stream
  return { codec, channels, sampleRate: Number(rate), seconds: Number(format.duration) }
}

/** The samples as ffmpeg decodes them, channel by channel. Any complaint of the decoder throws. */
export function decode(file: string, channels: number): Float32Array[] {
  const result = spawnSync(
    'ffmpeg',
    ['-nostdin', '-v', 'error', '-xerror', '-i', file, '-f', 'f32le', '-ac', String(channels), '-ar', '48000', '-'],
    { maxBuffer: 200_000_000 },
  )
  if (result.status !== 0 || result.stderr.length > 0) throw new Error(`ffmpeg: ${result.stderr.toString()}`)
  const { buffer, byteOffset, byteLength } = result.stdout
  const all = new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength))
  return Array.from({ length: channels }, (_, channel) => all.filter((_sample, i) => i % channels === channel))
}

/** The samples of a 16-bit WAV file that was made here, channel by channel: without ffmpeg. */
export function readWav(bytes: Buffer): Float32Array[] {
  const channels = bytes.readUInt16LE(22)
  const data = bytes.subarray(bytes.indexOf('data') + 8)
  const frames = Math.floor(data.length / 2 / channels)
  return Array.from({ length: channels }, (_, channel) =>
    Float32Array.from({ length: frames }, (_sample, i) => data.readInt16LE(2 * (i * channels + channel)) / 32_768),
  )
}

/** Root of the mean square, from one time to another in seconds. */
export function levelOf(samples: Float32Array, from = 0, to = samples.length / 48_000): number {
  const part = samples.subarray(Math.round(from * 48_000), Math.round(to * 48_000))
  return Math.sqrt(part.reduce((sum, sample) => sum + sample * sample, 0) / part.length)
}

/** The largest sample, without sign. */
export function peakOf(samples: Float32Array): number {
  return samples.reduce((peak, sample) => Math.max(peak, Math.abs(sample)), 0)
}
