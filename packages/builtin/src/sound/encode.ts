// From sound to a file: WAV, MP3, FLAC, M4A (AAC) or Ogg (Opus).

import { registerAacEncoder } from '@mediabunny/aac-encoder'
import { registerFlacEncoder } from '@mediabunny/flac-encoder'
import { registerMp3Encoder } from '@mediabunny/mp3-encoder'
import {
  type AudioEncodingConfig,
  AudioSample,
  AudioSampleSource,
  BufferTarget,
  FlacOutputFormat,
  Mp3OutputFormat,
  Mp4OutputFormat,
  OggOutputFormat,
  Output,
  type OutputFormat,
  Quality,
  WavOutputFormat,
} from 'mediabunny'
import { toInt16 } from './dither.ts'
import { registerOpusEncoder } from './opus-encoder.ts'
import { clearMp4Times, fixOggSerial } from './reproducible.ts'
import { resample } from './resample.ts'
import { frameCount, type Sound, studioRate } from './sound.ts'

/** Formats in which sounds can be had. */
export type SoundFormat = 'wav' | 'mp3' | 'flac' | 'm4a' | 'ogg'

interface FormatEntry {
  readonly codec: AudioEncodingConfig['codec']
  readonly container: () => OutputFormat
  /** Bits a second for one channel; null where nothing is lost: 16 bits a sample then. */
  readonly bitRate: number | null
  /** What the encoder puts before the first sample, and the container can tell players to drop. */
  readonly priming: number
  /** Whether it has to be 48 kHz. */
  readonly studioOnly: boolean
  readonly fix?: (file: Uint8Array) => void
}

const formats: Record<SoundFormat, FormatEntry> = {
  wav: { codec: 'pcm-s16', container: () => new WavOutputFormat(), bitRate: null, priming: 0, studioOnly: false },
  mp3: { codec: 'mp3', container: () => new Mp3OutputFormat(), bitRate: 96_000, priming: 0, studioOnly: false },
  flac: { codec: 'flac', container: () => new FlacOutputFormat(), bitRate: null, priming: 0, studioOnly: false },
  m4a: {
    codec: 'aac',
    container: () => new Mp4OutputFormat({ fastStart: 'in-memory' }),
    bitRate: 96_000,
    priming: 1024,
    studioOnly: false,
    fix: clearMp4Times,
  },
  ogg: {
    codec: 'opus',
    container: () => new OggOutputFormat(),
    bitRate: 64_000,
    priming: 0,
    studioOnly: true,
    fix: fixOggSerial,
  },
}

/** Whether `name` is a format. */
export function isSoundFormat(name: unknown): name is SoundFormat {
  return typeof name === 'string' && Object.hasOwn(formats, name)
}

let registered = false

/** Makes Mediabunny's encoders for AAC, MP3, FLAC and Opus known to it; films use them too. */
export function registerSoundEncoders(): void {
  if (registered) return
  registered = true
  registerAacEncoder()
  registerMp3Encoder()
  registerFlacEncoder()
  registerOpusEncoder()
}

/**
 * Encodes a sound; the same sound gives the same bytes.
 * @param onProgress told about once for each second of sound, 0 … 1
 */
export async function encodeSound(
  sound: Sound,
  format: SoundFormat,
  onProgress: (fraction: number) => void = () => {},
): Promise<Uint8Array> {
  registerSoundEncoders()
  const { codec, container, bitRate, priming, studioOnly, fix } = formats[format]
  const ready = studioOnly ? resample(sound, studioRate) : sound
  const target = new BufferTarget()
  const output = new Output({ format: container(), target })
  const quality = bitRate === null ? {} : { quality: new Quality({ bitrate: bitRate * ready.channels.length }) }
  const source = new AudioSampleSource({ codec, ...quality })
  output.addAudioTrack(source)
  await output.start()
  const frames = frameCount(ready)
  for (let first = 0; first < frames; first += ready.sampleRate) {
    const end = Math.min(frames, first + ready.sampleRate)
    using sample = new AudioSample({
      ...(bitRate === null ? sliceExact(ready, first, end) : sliceFloat(ready, first, end)),
      numberOfChannels: ready.channels.length,
      sampleRate: ready.sampleRate,
      timestamp: (first - priming) / ready.sampleRate,
    })
    await source.add(sample)
    onProgress(end / frames)
    await new Promise(setImmediate)
  }
  await output.finalize()
  if (!target.buffer) throw new Error(`No ${format} file was made`)
  const file = new Uint8Array(target.buffer)
  fix?.(file)
  return file
}

function sliceFloat(sound: Sound, first: number, end: number): { data: Float32Array; format: 'f32-planar' } {
  const data = new Float32Array((end - first) * sound.channels.length)
  sound.channels.forEach((samples, i) => data.set(samples.subarray(first, end), i * (end - first)))
  return { data, format: 'f32-planar' }
}

function sliceExact(sound: Sound, first: number, end: number): { data: Int16Array; format: 's16' } {
  return { data: toInt16(sound, first, end), format: 's16' }
}
