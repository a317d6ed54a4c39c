// FFmpeg, if the operator has one: decodes every codec.

import { spawn } from 'node:child_process'
import sharp, { type Sharp } from 'sharp'

// It stops by itself when this process is killed, because its output pipe is closed.
const cpuSeconds = 60

/** Reads its output in chunks; throws if it fails. */
async function run(ffmpegPath: string, options: readonly string[], take: (piece: Buffer) => void): Promise<void> {
  const process = spawn(
    ffmpegPath,
    ['-nostdin', '-v', 'error', '-xerror', '-timelimit', String(cpuSeconds), '-threads', '1', ...options, 'pipe:1'],
    { stdio: ['ignore', 'pipe', 'pipe'], env: {} },
  )
  let said = ''
  process.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2000)))
  process.stdout.on('data', take)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  process.once('error', reject)
  process.once('close', (code) => {
    if (code === 0) resolve()
    else reject(new Error(`FFmpeg ended with ${code}: ${said}`))
  })
  await promise
}

/** Names a file so that FFmpeg does not read it as a URL or an option. */
function inputOf(path: string): string[] {
  return ['-protocol_whitelist', 'file', '-i', `file:${path}`]
}

/** A picture of the frame shown at a time, upright and in this size; null if there is none. */
export async function seeWithFfmpeg(
  ffmpegPath: string,
  path: string,
  seconds: number,
  { width, height }: { readonly width: number; readonly height: number },
): Promise<Sharp | null> {
  const pieces: Buffer[] = []
  const picked = ['-map', '0:v:0', '-frames:v', '1', '-vf', `scale=${width}:${height}`]
  const options = ['-ss', seconds.toFixed(3), ...inputOf(path), ...picked, '-f', 'rawvideo', '-pix_fmt', 'rgb24']
  await run(ffmpegPath, options, (piece) => pieces.push(piece))
  const data = Buffer.concat(pieces)
  return data.length === width * height * 3 ? sharp(data, { raw: { width, height, channels: 3 } }) : null
}

/** Samples of a sound up to a time in seconds, in one channel, −1 … 1. */
export async function decodeWithFfmpeg(
  ffmpegPath: string,
  path: string,
  until: number,
  sampleRate: number,
  take: (samples: Float32Array) => void,
): Promise<void> {
  let rest: Buffer = Buffer.alloc(0)
  const picked = ['-t', until.toFixed(3), '-map', '0:a:0', '-ac', '1', '-ar', String(sampleRate)]
  await run(ffmpegPath, [...inputOf(path), ...picked, '-f', 'f32le'], (piece) => {
    const bytes = Buffer.concat([rest, piece])
    const whole = bytes.length - (bytes.length % 4)
    rest = bytes.subarray(whole)
    const samples = new Float32Array(whole / 4)
    for (let index = 0; index < samples.length; index++) samples[index] = bytes.readFloatLE(index * 4)
    take(samples)
  })
}
