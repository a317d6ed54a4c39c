// The sound of a recording, decoded as far as its codec can be decoded here, and how loud it is from moment to moment.

import { EncodedPacketSink, type InputAudioTrack } from 'mediabunny'
import { MPEGDecoder } from 'mpg123-decoder'
import { hearWithFfmpeg } from './ffmpeg.ts'
import { openLibavDecoder } from './libav.ts'
import { toBytes } from './video.ts'

/** libav's decoders by Mediabunny's names of codecs. */
const libavNames: Readonly<Record<string, string>> = {
  opus: 'libopus',
  flac: 'flac',
  'pcm-u8': 'pcm_u8',
  'pcm-s16': 'pcm_s16le',
  'pcm-s24': 'pcm_s24le',
  'pcm-s32': 'pcm_s32le',
  'pcm-f32': 'pcm_f32le',
}
const ffmpegRate = 8000

type Samples = Int16Array | Int32Array | Float32Array | Uint8Array

/** Samples as they are decoded: the planes of channels, or one of all. */
type Take = (planes: readonly Samples[], frames: number) => void

/** A sound of a file. */
export interface Sound {
  readonly track: InputAudioTrack
  readonly path: string
  /** How much of it there is. */
  readonly endSeconds: number
  /** How much of it is to be decoded. */
  readonly listenSeconds: number
  readonly ffmpegPath: string | null
}

/** What was heard. */
export interface Heard {
  readonly seconds: number
  /** The loudest samples of equal parts of the whole length, 0 … 1. */
  readonly peaks: Float32Array
}

/**
 * Decodes a sound; null where nothing here decodes its codec.
 * @throws when it cannot be decoded
 */
export async function listen(sound: Sound, parts: number): Promise<Heard | null> {
  const { track, path, endSeconds, listenSeconds, ffmpegPath } = sound
  const codec = (await track.getCodec()) ?? ''
  const sampleRate = await track.getSampleRate()
  const peaks = new Float32Array(parts)
  let frames = 0
  const at = (rate: number): Take => {
    const perPart = (endSeconds * rate) / parts
    return (planes, count) => {
      for (const plane of planes) measure(plane, frames / perPart, count / plane.length / perPart, peaks)
      frames += count
    }
  }
  if (ffmpegPath !== null) {
    const take = at(ffmpegRate)
    await hearWithFfmpeg(ffmpegPath, path, listenSeconds, ffmpegRate, (samples) => take([samples], samples.length))
    return { seconds: frames / ffmpegRate, peaks }
  }
  const libavName = libavNames[codec]
  if (libavName) await hearWithLibav(sound, libavName, at(sampleRate))
  else if (codec === 'mp3') await hearMp3(sound, at(sampleRate))
  else return null
  return { seconds: frames / sampleRate, peaks }
}

/** Keeps the loudest samples; `first` and `step` are places among the parts. */
function measure(plane: Samples, first: number, step: number, peaks: Float32Array): void {
  const [middle, range] = scaleOf(plane)
  for (let index = 0; index < plane.length; index++) {
    const part = Math.min(peaks.length - 1, Math.floor(first + index * step))
    const loud = Math.abs((plane[index] ?? 0) - middle) / range
    if (loud > (peaks[part] ?? 0)) peaks[part] = loud
  }
}

/** The value of silence, and the largest distance from it. */
function scaleOf(plane: Samples): readonly [number, number] {
  if (plane instanceof Int16Array) return [0, 2 ** 15]
  if (plane instanceof Int32Array) return [0, 2 ** 31]
  return plane instanceof Uint8Array ? [128, 128] : [0, 1]
}

async function hearWithLibav({ track, listenSeconds }: Sound, name: string, take: Take): Promise<void> {
  const config = await track.getDecoderConfig()
  const decoder = await openLibavDecoder(name, {
    sampleRate: await track.getSampleRate(),
    channels: await track.getNumberOfChannels(),
    setup: config?.description ? toBytes(config.description) : null,
  })
  const decode = async (packet: Uint8Array | null): Promise<void> => {
    for (const frame of await decoder.decode(packet)) {
      const data = frame.data as Samples | Samples[]
      take(Array.isArray(data) ? data : [data], frame.nb_samples ?? 0)
    }
  }
  try {
    for await (const packet of new EncodedPacketSink(track).packets()) {
      if (packet.timestamp >= listenSeconds) break
      await decode(packet.data)
    }
    await decode(null)
  } finally {
    await decoder.close()
  }
}

async function hearMp3({ track, listenSeconds }: Sound, take: Take): Promise<void> {
  const decoder = new MPEGDecoder({ enableGapless: false })
  await decoder.ready
  try {
    for await (const packet of new EncodedPacketSink(track).packets()) {
      if (packet.timestamp >= listenSeconds) break
      const { channelData, samplesDecoded, errors } = decoder.decodeFrame(packet.data)
      const [error] = errors
      if (error) throw new Error(error.message)
      take(channelData, samplesDecoded)
    }
  } finally {
    decoder.free()
  }
}
