// How long a recording is played: encoders work in blocks, pad the first and the last, and say by how much beside the packets.
import { open } from 'node:fs/promises'
import type { Input } from 'mediabunny'
import { type Read, readAt } from '../../read-at.ts'
import { readMp3Gap } from '../sounds/mp3-gap.ts'
import { type Box, readBoxes } from './boxes.ts'
import { readVint } from './containers.ts'
import type { Walked } from './packets.ts'

// A track that begins by so much later than another begins with it: its frames are reordered, or a codec has a delay.
const mostDelaySeconds = 0.1
// Two blocks of the longest codec before a sound, and two behind it.
const mostPaddingSamples = 8192
const mostFilmPaddingSeconds = 0.25
const tagBytes = 1024 * 1024

/** A recording whose packets were read. */
export interface Recording {
  readonly input: Input
  /** The film first. */
  readonly tracks: readonly Walked[]
  readonly path: string
  readonly contentType: string
  /** Samples a second if it is a sound; null if it is a film. */
  readonly sampleRate: number | null
}

/** Measures the seconds that are played. */
export async function measureDuration(recording: Recording): Promise<number> {
  const { path, contentType, sampleRate } = recording
  await using file = await open(path, 'r')
  const { size } = await file.stat()
  const read: Read = (at, length) => readAt(file, at, length)
  const seconds = measurePackets(recording.tracks)
  if (/webm|matroska/.test(contentType)) return (await measureMatroska(recording, read, size)) ?? seconds
  const stated = [await readTagged(recording, read, size)]
  if (/mp4|quicktime/.test(contentType)) stated.push(await readMovieSeconds(read, size))
  if (contentType === 'audio/mpeg') stated.push(seconds - (await readMp3Gap(path)) / (sampleRate ?? 1))
  // Padding is short: what says that there is more of it is wrong.
  const mostPadding = sampleRate === null ? mostFilmPaddingSeconds : mostPaddingSamples / sampleRate
  return Math.min(seconds, ...stated.filter((one) => one > 0 && one > seconds - mostPadding))
}

function measurePackets(tracks: readonly Walked[]): number {
  const starts = tracks.map(({ startSeconds }) => Math.max(0, startSeconds))
  const first = Math.min(...starts)
  return Math.max(
    ...tracks.map(({ endSeconds }, index) => {
      const start = starts[index] ?? first
      return endSeconds - (start - first > mostDelaySeconds ? first : start)
    }),
  )
}

/** The stated duration, because the last packet has none; null if it is not stated, or is not that of the packets. */
async function measureMatroska(
  { input, tracks, sampleRate }: Recording,
  read: Read,
  size: number,
): Promise<number | null> {
  const stated = (await input.getDurationFromMetadata()) ?? 0
  const end = Math.max(...tracks.map(({ endSeconds }) => endSeconds))
  const longest = Math.max(...tracks.map(({ longestSeconds }) => longestSeconds))
  const isTrue = stated >= end && stated <= end + Math.max(longest, mostDelaySeconds)
  if (!isTrue) return null
  // A film begins when the delay of its sound is over.
  const filmStart = sampleRate === null ? (tracks[0]?.startSeconds ?? 0) : 0
  return stated - Math.max(await readCodecDelay(read, size), filmStart > mostDelaySeconds ? 0 : filmStart)
}

// Segment, Tracks and TrackEntry hold what is looked for.
const opened: ReadonlySet<string> = new Set(['18538067', '1654ae6b', 'ae'])
const [codecDelay, cluster] = ['56aa', '1f43b675']
const mostElements = 1000

/** Seconds in front of the sound that are not played, RFC 9559, 5.1.4.1.26; 0 if none are stated before the first packets. */
async function readCodecDelay(read: Read, size: number): Promise<number> {
  for (let [at, elements] = [0, 0]; at < size && elements < mostElements; elements++) {
    const head = await read(at, 16)
    const idBytes = Math.clz32(head[0] ?? 0) - 23
    const id = head.toString('hex', 0, idBytes)
    const length = readVint(head.subarray(idBytes))
    if (length === null || id === cluster) break
    at += idBytes + length.length
    const bytes = length.value ?? size
    if (id === codecDelay) return Number(`0x${(await read(at, Math.min(8, bytes))).toString('hex')}`) / 1e9 || 0
    if (!opened.has(id)) at += bytes
  }
  return 0
}

/**
 * The length of a sound as iTunes writes it into a tag: hexadecimal numbers, of which the fourth counts the samples without
 * padding. 0 if there is no such tag near the beginning or the end.
 */
async function readTagged({ sampleRate }: Recording, read: Read, size: number): Promise<number> {
  if (sampleRate === null) return 0
  for (const at of [0, Math.max(0, size - tagBytes)]) {
    const text = (await read(at, tagBytes)).toString('latin1')
    const samples = /iTunSMPB[^]{1,32}? [0-9A-F]{8} [0-9A-F]{8} [0-9A-F]{8} ([0-9A-F]{16})/i.exec(text)?.[1]
    if (samples !== undefined) return Number(`0x${samples}`) / sampleRate
  }
  return 0
}

/** The duration in the header of a movie, which edit lists trim; 0 if it is not stated. ISO/IEC 14496-12, 8.2.2. */
async function readMovieSeconds(read: Read, size: number): Promise<number> {
  const movie = await findBox(read, 0, size, 'moov')
  const header = movie && (await findBox(read, movie.at, movie.end, 'mvhd'))
  if (!header || header.end > size || header.end - header.at < 32) return 0
  const fields = await read(header.at, 32)
  return fields[0] === 1
    ? Number(fields.readBigUInt64BE(24)) / fields.readUInt32BE(20)
    : fields.readUInt32BE(16) / fields.readUInt32BE(12)
}

async function findBox(read: Read, from: number, to: number, type: string): Promise<Box | null> {
  for await (const box of readBoxes(read, from, to)) if (box.type === type) return box
  return null
}
