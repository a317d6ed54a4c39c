// Decodes the sound of a recording if a decoder exists, and measures its loudness over time.

import { AudioSampleSink, EncodedPacketSink, type InputAudioTrack, PCM_AUDIO_CODECS } from 'mediabunny'
import { MPEGDecoder } from 'mpg123-decoder'
import { decodeWithFileDecoder } from '../file-decoder.ts'
import { decodeWithFfmpeg } from '../films/ffmpeg.ts'
import { openLibavDecoder } from '../films/libav.ts'
import { toBytes } from '../films/packets.ts'

type Samples = Int16Array | Int32Array | Float32Array | Uint8Array

/** Decoded samples, as one plane per channel or one for all, with their duration in seconds. */
type Take = (planes: readonly Samples[], seconds: number) => void

/** Decodes a sound up to the requested time; throws if it cannot be decoded. */
type Decode = (sound: Sound, take: Take) => Promise<void>

/** libav's decoders by Mediabunny's names of codecs. */
const libavNames: Readonly<Record<string, string>> = { opus: 'libopus', flac: 'flac' }
// AAC-LC and HE-AAC, which encoders produce; the others of its forty kinds are not decoded.
const commonAac = /^mp4a\.40\.(2|5|29)$/
const ffmpegRate = 8000

/** A sound of a file. */
export interface Sound {
  readonly track: InputAudioTrack
  readonly path: string
  /** Duration of the recording. */
  readonly durationSeconds: number
  /** Start of the sound in the recording, and the time up to which it is decoded, in seconds. */
  readonly from: number
  readonly until: number
  readonly ffmpegPath: string | null
}

export interface DecodedSound {
  readonly seconds: number
  /** The loudest samples of equal parts of the whole length, 0 … 1. */
  readonly peaks: Float32Array
}

/**
 * Decodes a sound by the first decoder that can; null if none exists for its codec.
 * @throws when none of them can decode it
 */
export async function decodeSound(sound: Sound, parts: number): Promise<DecodedSound | null> {
  const own = await findDecoder(sound.track)
  if (sound.ffmpegPath !== null)
    try {
      return await decodeAll(sound, decodeWithOperatorsFfmpeg, parts)
    } catch (error) {
      // FFmpeg gives up at what is only beside the sound, such as a tag behind FLAC.
      if (!own) throw error
    }
  return own && (await decodeAll(sound, own, parts))
}

async function decodeAll(sound: Sound, decode: Decode, parts: number): Promise<DecodedSound> {
  const peaks = new Float32Array(parts)
  const partsASecond = parts / sound.durationSeconds
  let decodedSeconds = 0
  await decode(sound, (planes, seconds) => {
    for (const plane of planes)
      measure(plane, (sound.from + decodedSeconds) * partsASecond, (seconds / plane.length) * partsASecond, peaks)
    decodedSeconds += seconds
  })
  return { seconds: decodedSeconds, peaks }
}

async function findDecoder(track: InputAudioTrack): Promise<Decode | null> {
  const codec = (await track.getCodec()) ?? ''
  const libavName = libavNames[codec]
  if (libavName) return (sound, take) => decodeWithLibav(sound, libavName, take)
  if (codec === 'mp3') return decodeMp3
  if (PCM_AUDIO_CODECS.some((name) => name === codec)) return decodePcm
  const isTaken = codec === 'vorbis' || commonAac.test((await track.getCodecParameterString()) ?? '')
  return isTaken ? decodeFile : null
}

/** Keeps the loudest samples; `first` and `step` are positions among the parts. */
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

const decodeWithOperatorsFfmpeg: Decode = ({ ffmpegPath, path, until }, take) =>
  decodeWithFfmpeg(ffmpegPath ?? '', path, until, ffmpegRate, (samples) => take([samples], samples.length / ffmpegRate))

const decodeFile: Decode = ({ track, until }, take) =>
  decodeWithFileDecoder(track, until, (samples, rate) => take([samples], samples.length / rate))

async function decodePcm({ track, until }: Sound, take: Take): Promise<void> {
  for await (const sample of new AudioSampleSink(track).samples(0, until)) {
    const planes = Array.from({ length: sample.numberOfChannels }, (_, planeIndex) => {
      const plane = new Float32Array(sample.numberOfFrames)
      sample.copyTo(plane, { planeIndex, format: 'f32-planar' })
      return plane
    })
    take(planes, sample.duration)
    sample.close()
  }
}

async function decodeWithLibav({ track, until }: Sound, name: string, take: Take): Promise<void> {
  const sampleRate = await track.getSampleRate()
  const config = await track.getDecoderConfig()
  const decoder = await openLibavDecoder(name, {
    sampleRate,
    channels: await track.getNumberOfChannels(),
    setup: config?.description ? toBytes(config.description) : null,
  })
  const decode = async (packet: Uint8Array | null): Promise<void> => {
    for (const frame of await decoder.decode(packet)) {
      const data = frame.data as Samples | Samples[]
      take(Array.isArray(data) ? data : [data], (frame.nb_samples ?? 0) / sampleRate)
    }
  }
  try {
    for await (const packet of new EncodedPacketSink(track).packets()) {
      if (packet.timestamp >= until) break
      await decode(packet.data)
    }
    await decode(null)
  } finally {
    await decoder.close()
  }
}

async function decodeMp3({ track, until }: Sound, take: Take): Promise<void> {
  const sampleRate = await track.getSampleRate()
  const decoder = new MPEGDecoder({ enableGapless: false })
  await decoder.ready
  try {
    for await (const packet of new EncodedPacketSink(track).packets()) {
      if (packet.timestamp >= until) break
      const { channelData, samplesDecoded, errors } = decoder.decodeFrame(packet.data)
      const [error] = errors
      if (error) throw new Error(error.message)
      take(channelData, samplesDecoded / sampleRate)
    }
  } finally {
    decoder.free()
  }
}
