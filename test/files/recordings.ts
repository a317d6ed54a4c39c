// Recordings as outputs: those that the built-in engines' own encoders make, those of Debian's FFmpeg, and what is learned of them.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openFilm } from '@mediagen/builtin/film/film.ts'
import { encodeSound, type SoundFormat } from '@mediagen/builtin/sound/encode.ts'
import type { Sound } from '@mediagen/builtin/sound/sound.ts'
import { EncodedPacketSink, FilePathSource, Input, MP4, OGG, WEBM } from 'mediabunny'
import { inspectOutput } from '../../src/files/media/probe/inspect.ts'
import type { Inspection } from '../../src/files/media/probe/inspection.ts'

/** Where Debian has FFmpeg and its prober; null where they are not installed. */
export const ffmpeg = ['/usr/bin/ffmpeg', '/usr/bin/ffprobe'].every((path) => existsSync(path))
  ? { ffmpeg: '/usr/bin/ffmpeg', ffprobe: '/usr/bin/ffprobe' }
  : null

/** Runs FFmpeg; words of options are separated by spaces. */
export function runFfmpeg(options: string): void {
  execFileSync(ffmpeg?.ffmpeg ?? '', ['-y', '-v', 'error', ...options.split(' ')], { stdio: 'pipe' })
}

/** How long FFmpeg says that a file lasts, in seconds. */
export function ffprobeSeconds(path: string): number {
  const options = ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', path]
  return Number(execFileSync(ffmpeg?.ffprobe ?? '', options, { encoding: 'utf8' }))
}

/** Looks into a file; its preview is left beside it. */
export async function look(path: string, ffmpegPath: string | null = null): Promise<Inspection & { preview: string }> {
  const preview = `${path}.preview`
  const request = { path, name: 'out', previewPath: preview, bounds: { pixels: 1_000_000, side: 32_768 }, ffmpegPath }
  return { ...(await inspectOutput(request)), preview }
}

/** Silence in its first half, then a tone. */
export function toneAfterSilence(seconds: number): Sound {
  const frames = seconds * 48_000
  const tone = Float32Array.from({ length: frames }, (_, at) => (at < frames / 2 ? 0 : 0.8 * Math.sin(at / 20)))
  return { sampleRate: 48_000, channels: [tone, tone] }
}

/** A sound file by the encoders of the built-in engines. */
export async function makeSound(folder: string, format: SoundFormat, seconds = 3): Promise<string> {
  const path = join(folder, `sound.${format}`)
  await writeFile(path, await encodeSound(toneAfterSilence(seconds), format))
  return path
}

/** A film by the encoders of the built-in engines: 96 × 64, 20 frames a second; black for a quarter, then red beside blue. */
export async function makeFilm(
  folder: string,
  format: 'mp4' | 'webm',
  sound: Sound | null,
  seconds = 2,
): Promise<string> {
  const path = join(folder, `film-${sound ? 'with-sound' : 'silent'}.${format}`)
  const [width, height, fps] = [96, 64, 20]
  const frames = seconds * fps
  await using film = await openFilm({ ffmpeg: null, width, height, fps, frames, sound, format, file: path })
  const pixels = new Uint8Array(width * height * 4)
  for (let frame = 0; frame < frames; frame++) {
    for (let at = 0; at < width * height; at++) {
      const left = at % width < width / 2
      pixels.set(frame < frames / 4 ? [0, 0, 0, 255] : left ? [255, 0, 0, 255] : [0, 0, 255, 255], at * 4)
    }
    await film.addFrame(pixels)
  }
  await film.close()
  return path
}

/** A copy of a file of which only so much is left. */
export async function cutShort(path: string, share: number): Promise<string> {
  const content = await readFile(path)
  await writeFile(`${path}.cut`, content.subarray(0, Math.floor(content.length * share)))
  return `${path}.cut`
}

/** A copy of a file in which a part is noise. */
export async function damage(path: string, from: number, to: number): Promise<string> {
  const content = await readFile(path)
  let noise = 1
  for (let at = Math.floor(content.length * from); at < content.length * to; at++) {
    noise = (noise * 48_271) % 2_147_483_647
    content[at] = noise & 255
  }
  await writeFile(`${path}.damaged`, content)
  return `${path}.damaged`
}

/** A copy of a film or sound in MP4, WebM or Ogg that is whole, and whose tracks of one kind hold noise. */
export async function garble(path: string, kind: 'audio' | 'video'): Promise<string> {
  const content = await readFile(path)
  using input = new Input({ formats: [MP4, WEBM, OGG], source: new FilePathSource(path) })
  let noise = 1
  let found = 0
  for (const track of await input.getTracks()) {
    if (track.type !== kind) continue
    for await (const { data } of new EncodedPacketSink(track).packets()) {
      const start = content.indexOf(data)
      if (start < 0) continue
      found += 1
      for (const at of data.keys()) {
        noise = (noise * 48_271) % 2_147_483_647
        content[start + at] = noise & 255
      }
    }
  }
  if (found === 0) throw new Error(`no packet of ${kind} is in ${path} as it is`)
  await writeFile(`${path}.garbled`, content)
  return `${path}.garbled`
}

/** A box of an MP4 file. */
export function box(type: string, ...content: string[]): Buffer {
  const body = Buffer.from(content.join(''), 'latin1')
  const size = Buffer.alloc(4)
  size.writeUInt32BE(body.length + 8)
  return Buffer.concat([size, Buffer.from(type, 'latin1'), body])
}
