// For tests of films: runs a model of the catalog through the engine, and looks at what came out with Debian's ffmpeg.

import { execFileSync, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine, JsonObject } from '@mediagen/engine/engine.ts'
import sharp from 'sharp'
import { type Made, make } from './sounds.ts'

const reference = 'data:image/png;base64,AAAA'

/** Makes films in a folder; pictures are handed in as the runner would. */
export function filmMaker(engine: () => Engine, root: () => string) {
  return (id: string, input: JsonObject, pictures: readonly string[] = [], signal?: AbortSignal): Promise<Made> => {
    const isList = id.includes('slideshow')
    const media = new Map(pictures.map((path, i) => [isList ? `/images/${i}` : '/image', path] as const))
    const references = isList ? { images: pictures.map(() => reference) } : { image: reference }
    const whole = pictures.length > 0 ? { ...references, ...input } : input
    return make(engine(), root(), `builtin/video/${id}`, whole, media, signal)
  }
}

/** A picture with something to see: a bright disc on a gradient. */
export async function paintPicture(folder: string, name: string, width: number, height: number): Promise<string> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <defs><linearGradient id="g" x2="1" y2="1"><stop stop-color="#204080"/><stop offset="1" stop-color="#e0a060"/></linearGradient></defs>
    <rect width="100%" height="100%" fill="url(#g)"/><circle cx="70%" cy="40%" r="${Math.min(width, height) / 6}" fill="#fff"/></svg>`
  const path = join(folder, `${name}.png`)
  await writeFile(path, await sharp(Buffer.from(svg)).png().toBuffer())
  return path
}

/** Path of a program of the machine; empty when it has none. */
export function findProgram(name: string): string {
  return spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim()
}

/** What ffprobe says after it decoded everything. */
export interface FilmFacts {
  readonly container: string
  readonly seconds: number
  readonly video: Readonly<Record<string, unknown>>
  readonly audio: Readonly<Record<string, unknown>> | undefined
}

/** Decodes a film to its end. Any complaint of the decoder throws. */
export function inspectFilm(file: string): FilmFacts {
  const decoded = spawnSync('ffmpeg', ['-nostdin', '-v', 'error', '-xerror', '-i', file, '-f', 'null', '-'])
  if (decoded.status !== 0 || decoded.stderr.length > 0) throw new Error(`ffmpeg: ${decoded.stderr.toString()}`)
  const asked = ['-v', 'error', '-count_frames', '-show_streams', '-show_format', '-of', 'json', file]
  const { streams, format } = JSON.parse(execFileSync('ffprobe', asked, { encoding: 'utf8' })) as {
    streams: Record<string, unknown>[]
    format: { format_name: string; duration: string }
  }
  const video = streams.find((stream) => stream['codec_type'] === 'video')
  if (!video) throw new Error('no picture')
  const audio = streams.find((stream) => stream['codec_type'] === 'audio')
  return { container: format.format_name, seconds: Number(format.duration), video, audio }
}

/** All frames as ffmpeg decodes them, three bytes a pixel. */
export function decodeFrames(file: string, width: number, height: number): Buffer[] {
  const { stdout } = spawnSync('ffmpeg', ['-v', 'error', '-i', file, '-f', 'rawvideo', '-pix_fmt', 'rgb24', '-'], {
    maxBuffer: 1e9,
  })
  const bytes = width * height * 3
  return Array.from({ length: stdout.length / bytes }, (_, i) => stdout.subarray(i * bytes, (i + 1) * bytes))
}

/** Mean difference of two frames, 0 … 255. */
export function differ(one: Buffer, other: Buffer): number {
  let sum = 0
  for (let i = 0; i < one.length; i++) sum += Math.abs(one[i]! - other[i]!)
  return sum / one.length
}

/** Deviation of the pixels of a frame from their mean. */
export function deviationOf(frame: Buffer): number {
  const mean = frame.reduce((sum, value) => sum + value, 0) / frame.length
  return Math.sqrt(frame.reduce((sum, value) => sum + (value - mean) ** 2, 0) / frame.length)
}

/** Names of the boxes of an MP4 file, in their order. */
export function listBoxes(bytes: Buffer): string[] {
  const names: string[] = []
  for (let at = 0; at + 8 <= bytes.length; at += bytes.readUInt32BE(at)) {
    names.push(bytes.toString('latin1', at + 4, at + 8))
    if (bytes.readUInt32BE(at) < 8) break
  }
  return names
}
