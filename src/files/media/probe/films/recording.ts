// Video and sound: every packet is read, and frames and sound are decoded if this machine has a decoder. Other codecs are
// accepted if the container is complete, the tracks contain what they state, and each begins with a key frame.

import { openAsBlob } from 'node:fs'
import { EngineError } from '@mediagen/engine/engine.ts'
import {
  ADTS,
  BlobSource,
  BufferSource,
  FilePathSource,
  FLAC,
  Input,
  type InputTrack,
  MATROSKA,
  MP3,
  MP4,
  OGG,
  QTFF,
  type Source,
  WAVE,
  WEBM,
} from 'mediabunny'
import { invalidOutput } from '../../invalid-output.ts'
import type { Kind } from '../../kinds.ts'
import type { InspectRequest } from '../inspection.ts'
import type { Seen } from '../pictures/picture.ts'
import { readOggFlac } from '../sounds/ogg-flac.ts'
import { decodeSound } from '../sounds/sound.ts'
import { drawWaveform, waveformParts } from '../sounds/waveform.ts'
import { isWhole } from './containers.ts'
import { measureDuration } from './duration.ts'
import { type Walked, walkPackets } from './packets.ts'
import { lookAtVideo } from './video.ts'

// Containers round times and encoders pad the last packet; a truncated file lacks more than this.
const slackSeconds = 0.1
const slackShare = 0.005
// A sound up to this length is decoded to its end; a longer one, and that of a video, for one second.
const wholeSoundSeconds = 600
const shortSoundSeconds = 1
// Decoders drop less than this at the beginning and the end.
const leastDecodedShare = 0.9
const leastDecodedSlackSeconds = 0.1
// https://id3.org/ID3v1
const id3v1Bytes = 128

/**
 * Inspects a recording.
 * @throws EngineError `output_invalid` if it is truncated, damaged, too large, or not what it claims to be
 */
export async function inspectRecording(request: InspectRequest, type: Kind): Promise<Kind & Seen> {
  const { path, name } = request
  const { contentType } = type
  const damaged = (cause: unknown): EngineError => invalidOutput(name, `is a damaged file (${contentType})`, { cause })
  if (!(await isWhole(path, contentType).catch(() => false)))
    throw invalidOutput(name, `is cut short (${contentType}): the file ends before it should`)
  using input = new Input({
    formats: [MP4, QTFF, WEBM, MATROSKA, OGG, MP3, WAVE, FLAC, ADTS],
    source: await openSource(path, contentType),
  })
  try {
    return await inspectInput(input, request, type)
  } catch (error) {
    throw error instanceof EngineError ? error : damaged(error)
  }
}

/** The part of a file that Mediabunny reads: FLAC out of Ogg, and FLAC without the tag behind it. */
async function openSource(path: string, contentType: string): Promise<Source> {
  const unwrapped = contentType === 'audio/ogg' ? await readOggFlac(path) : null
  if (unwrapped !== null) return new BufferSource(unwrapped)
  if (contentType !== 'audio/flac') return new FilePathSource(path)
  const file = await openAsBlob(path)
  const sound = file.slice(0, -id3v1Bytes)
  const isTagged = (await file.slice(sound.size, sound.size + 3).text()) === 'TAG'
  return new BlobSource(isTagged ? sound : file)
}

async function inspectInput(input: Input, request: InspectRequest, type: Kind): Promise<Kind & Seen> {
  const { name, path, bounds, ffmpegPath } = request
  const [film, sound] = [await input.getPrimaryVideoTrack(), await input.getPrimaryAudioTrack()]
  if (!film && !sound) throw invalidOutput(name, `holds no video and no sound that can be read (${type.contentType})`)
  const walked = new Map<InputTrack, Walked>()
  for (const track of [film, sound]) if (track) walked.set(track, await checkTrack(track, request))
  await checkLength(input, walked, name)
  const sampleRate = film || !sound ? null : await sound.getSampleRate()
  const { contentType } = type
  const durationSeconds = await measureDuration({ input, tracks: [...walked.values()], path, contentType, sampleRate })

  if (sound) {
    const isLong = film !== null || durationSeconds > wholeSoundSeconds
    const secondsToDecode = isLong ? shortSoundSeconds : durationSeconds
    const { startSeconds = 0, endSeconds = 0 } = walked.get(sound) ?? {}
    const from = Math.max(0, startSeconds)
    const until = from + secondsToDecode
    const decoded = await decodeSound({ track: sound, path, durationSeconds, from, until, ffmpegPath }, waveformParts)
    const expected = Math.min(secondsToDecode, endSeconds - from)
    if (decoded && decoded.seconds < expected * leastDecodedShare - leastDecodedSlackSeconds)
      throw invalidOutput(name, `has sound of which only ${decoded.seconds.toFixed(1)} s can be decoded`)
    if (!film) {
      const preview = decoded && !isLong ? drawWaveform(decoded.peaks) : null
      return { ...toSoundType(type), width: null, height: null, durationSeconds, preview, isPicture: false }
    }
  }
  if (!film) throw new Error('neither video nor sound')
  const [width, height] = [await film.getDisplayWidth(), await film.getDisplayHeight()]
  if (width * height > bounds.pixels) throw invalidOutput(name, `has frames of more than ${bounds.pixels} pixels`)
  if (Math.max(width, height) > bounds.side)
    throw invalidOutput(name, `has frames with a side of more than ${bounds.side} pixels`)
  const look = await lookAtVideo({ track: film, path, endSeconds: durationSeconds, ffmpegPath })
  if (look && !look.sizeIsTrue)
    throw invalidOutput(name, `claims frames of ${width} × ${height} pixels, but they have another size`)
  return { ...type, width, height, durationSeconds, preview: look?.poster ?? null, isPicture: true }
}

/** A video container with only sound is a sound. */
function toSoundType(type: Kind): Kind {
  if (type.contentType === 'video/mp4') return { contentType: 'audio/mp4', extension: 'm4a' }
  if (type.contentType === 'video/matroska') return { contentType: 'audio/matroska', extension: 'mka' }
  return type.contentType === 'video/webm' ? { ...type, contentType: 'audio/webm' } : type
}

async function checkTrack(track: InputTrack, { name, ffmpegPath }: InspectRequest): Promise<Walked> {
  if ((await track.getCodec()) === null && ffmpegPath === null) {
    const id = await track.getInternalCodecId()
    throw invalidOutput(name, `holds ${track.type} in an unknown codec (${typeof id === 'string' ? id : '?'})`)
  }
  const walked = await walkPackets(track)
  if (walked.packets === 0) throw invalidOutput(name, `has an empty ${track.type} track`)
  if (!walked.startsWithKey) throw invalidOutput(name, `does not begin with a key frame`)
  return walked
}

/** Checks the claims of the header. */
async function checkLength(input: Input, walked: ReadonlyMap<InputTrack, Walked>, name: string): Promise<void> {
  const there = Math.max(...[...walked.values()].map(({ endSeconds }) => endSeconds))
  const said = Math.max((await input.getDurationFromMetadata()) ?? 0, await input.computeDuration())
  const longest = Math.max(...[...walked.values()].map(({ longestSeconds }) => longestSeconds))
  if (there < said - longest - slackSeconds - said * slackShare)
    throw invalidOutput(name, `claims to last ${said.toFixed(1)} s, but contains only ${there.toFixed(1)} s`)
  if (there <= 0) throw invalidOutput(name, 'has no duration')
}
