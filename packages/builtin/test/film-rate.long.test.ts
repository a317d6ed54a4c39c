// What films cost and what they lose: every style of motion graphics in both formats, against the frames that were drawn.

import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { usualPictureBounds } from '@mediagen/engine/media.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPalette } from '../src/art/palette.ts'
import { createNoise, createRandom } from '../src/art/random.ts'
import { createYuvConverter, yuvBytes } from '../src/film/yuv.ts'
import { motionStyles, type MotionStyleName } from '../src/motion/styles.ts'
import { shoot } from '../src/video/shoot.ts'
import { hasFfmpeg } from './sounds.ts'

const [width, height, fps, frames] = [640, 360, 25, 50]
// Where every step of a gradient shows, and where hardly anything moves.
const soft = new Set<MotionStyleName>(['gradient', 'landscape'])
let root: string

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'builtin-film-rate-'))
})

afterAll(() => rm(root, { recursive: true, force: true }))

/** Bits for each pixel of each frame, and decibels of luma between what was drawn and what is decoded. */
async function measure(style: MotionStyleName, format: 'mp4' | 'webm'): Promise<{ bits: number; decibels: number }> {
  const random = createRandom(`rate ${style}`)
  const scene = motionStyles[style]({
    width,
    height,
    unit: height,
    seconds: 6,
    words: 'Make something today. It will be good.',
    palette: createPalette('night', random),
    noise: createNoise(random),
    random,
  })
  const file = join(root, `${style}.${format}`)
  const convert = createYuvConverter(width, height, format === 'mp4' ? 'bt709' : 'bt601')
  const drawn: Uint8Array[] = []
  const task = { input: {}, media: new Map(), bounds: usualPictureBounds, file, ffmpeg: null, onProgress: () => {} }
  await shoot(task, { width, height, fps, frames, format, sound: null }, (context, seconds, frame) => {
    context.save()
    scene(context, seconds / 6)
    context.restore()
    const yuv = new Uint8Array(yuvBytes(width, height))
    convert(context.getImageData(0, 0, width, height).data, yuv)
    drawn[frame] = yuv
  })
  const decode = ['-v', 'error', '-i', file, '-f', 'rawvideo', '-pix_fmt', 'yuv420p', '-']
  const decoded = execFileSync('ffmpeg', decode, { maxBuffer: 2 ** 30 })
  let sum = 0
  for (const [frame, yuv] of drawn.entries())
    for (let i = 0; i < width * height; i++) sum += ((yuv[i] ?? 0) - (decoded[frame * yuv.length + i] ?? 0)) ** 2
  const { size } = await stat(file)
  const pixels = width * height * frames
  return { bits: (8 * size) / pixels, decibels: 10 * Math.log10(255 ** 2 / (sum / pixels)) }
}

// At 1280 × 720 the same film takes about half the bits a pixel: six seconds are then at most 4 MB.
describe.runIf(hasFfmpeg)('a film is neither larger nor poorer than it must be', () => {
  const styles = Object.keys(motionStyles) as MotionStyleName[]
  test.each(styles)('%s', async (style) => {
    const [mostBits, leastDecibels] = soft.has(style) ? [0.08, 48] : [0.45, 37]
    for (const format of ['mp4', 'webm'] as const) {
      const { bits, decibels } = await measure(style, format)
      expect(bits, format).toBeLessThan(mostBits)
      expect(decibels, format).toBeGreaterThan(leastDecibels)
    }
  })
})
