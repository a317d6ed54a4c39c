// The fast way: an ffmpeg of the machine, given raw frames through a pipe. It gets no environment and reads no network.

import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import { promisify } from 'node:util'
import { EngineError } from '@mediagen/engine/engine.ts'
import type { Sound } from '../sound/sound.ts'
import type { FilmFile, FilmWriter } from './writer.ts'

const checkTimeoutMs = 10_000
const stderrTailChars = 2000
const secondsBetweenKeys = 4

const codecs = {
  mp4: {
    matrix: 'bt709',
    // One thread, because there is a render process for each core, and each also draws.
    video: ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '21', '-pix_fmt', 'yuv420p', '-threads', '1'],
    sound: ['-c:a', 'aac', '-b:a', '96k'],
    container: ['-movflags', '+faststart', '-f', 'mp4'],
  },
  webm: {
    matrix: 'bt601',
    video: ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '-8', '-crf', '16', '-b:v', '12M', '-threads', '1'],
    sound: ['-c:a', 'libopus', '-b:a', '64k'],
    container: ['-f', 'webm'],
  },
} as const

type Program = ChildProcessByStdio<Writable, null, Readable>

const neededEncoders = ['libx264', 'aac', 'libvpx', 'libopus']

/** Null when films can be made with this program, else why not, in words. */
export async function whyNotFfmpeg(path: string): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)(path, ['-hide_banner', '-encoders'], {
      env: {},
      timeout: checkTimeoutMs,
      maxBuffer: 1e7,
    })
    const there = new Set(stdout.split('\n').map((line) => line.trim().split(/\s+/)[1]))
    const missing = neededEncoders.filter((name) => !there.has(name))
    return missing.length === 0 ? null : `${path} has no encoder ${missing.join(', ')}`
  } catch (error) {
    return `${path} cannot be run: ${(error as Error).message.split('\n')[0]}`
  }
}

/**
 * Opens a writer around a program that passed `whyNotFfmpeg`.
 * @throws EngineError `encoder_failed` from its methods when the program ends early or fails
 */
export async function openFfmpegWriter(path: string, film: FilmFile): Promise<FilmWriter> {
  const soundFile = `${film.file}.f32`
  if (film.sound) await writeFile(soundFile, interleave(film.sound))
  const program = spawn(path, listArguments(film, soundFile), { env: {}, stdio: ['pipe', 'ignore', 'pipe'] })
  const ended = waitForEnd(program)
  return {
    matrix: codecs[film.format].matrix,
    async write(yuv) {
      // A copy: the pipe may still hold it when the next frame is converted.
      const hasRoom = program.stdin.write(yuv.slice())
      if (!hasRoom) await Promise.race([once(program.stdin, 'drain'), ended])
    },
    async finish() {
      program.stdin.end()
      await ended
    },
    async close() {
      if (program.exitCode === null && program.signalCode === null) program.kill('SIGKILL')
      await ended.catch(() => {})
      await rm(soundFile, { force: true })
    },
  }
}

function listArguments({ width, height, fps, format, file, sound }: FilmFile, soundFile: string): string[] {
  const { matrix, video, sound: audio, container } = codecs[format]
  const colors = ['-color_range', 'tv', '-colorspace', matrix === 'bt709' ? 'bt709' : 'smpte170m']
  const marks = [...colors, '-color_primaries', 'bt709', '-color_trc', 'bt709']
  const pictures = ['-f', 'rawvideo', '-pix_fmt', 'yuv420p', '-video_size', `${width}x${height}`, ...marks]
  const layout = sound && ['-f', 'f32le', '-ar', String(sound.sampleRate), '-ac', String(sound.channels.length)]
  const options = [
    ['-hide_banner', '-loglevel', 'error', '-nostdin', '-y'],
    [...pictures, '-framerate', String(fps), '-i', 'pipe:0'],
    layout ? [...layout, '-i', soundFile, '-map', '0:v', '-map', '1:a'] : [],
    [...video, ...marks, '-g', String(secondsBetweenKeys * fps)],
    layout ? audio : [],
    // No version, no time: the same film is the same file.
    ['-fflags', '+bitexact', '-flags:v', '+bitexact', '-flags:a', '+bitexact', '-map_metadata', '-1'],
    container,
    [file],
  ]
  return options.flat()
}

/** Resolves when the program ended well. */
function waitForEnd(program: Program): Promise<void> {
  let tail = ''
  program.stderr.setEncoding('utf8').on('data', (text: string) => (tail = (tail + text).slice(-stderrTailChars)))
  // A program that has ended closes its end of the pipe; the reason is reported below.
  program.stdin.on('error', () => {})
  const ended = new Promise<void>((resolve, reject) => {
    const fail = (words: string): void => reject(new EngineError('encoder_failed', `The video encoder ${words}.`, true))
    program.once('error', (error) => fail(`could not be started: ${error.message}`))
    program.once('close', (code, signal) => {
      if (code === 0) resolve()
      else fail(`ended with ${signal ?? code}: ${tail.trim().split('\n').at(-1) ?? ''}`)
    })
  })
  // The next caller that waits gets this error; there may be none at this moment.
  ended.catch(() => {})
  return ended
}

function interleave({ channels }: Sound): Uint8Array {
  const length = channels[0]?.length ?? 0
  const samples = new Float32Array(length * channels.length)
  for (const [c, channel] of channels.entries())
    for (let i = 0; i < length; i++) samples[i * channels.length + c] = channel[i] ?? 0
  return new Uint8Array(samples.buffer)
}
