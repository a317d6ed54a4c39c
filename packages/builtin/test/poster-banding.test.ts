// The soft grounds of posters show no bands, and nothing else of a poster is touched by what takes them out.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { usualPictureBounds } from '@mediagen/engine/media.ts'
import sharp from 'sharp'
import { expect, onTestFinished, test } from 'vitest'
import { deband } from '../src/poster/deband.ts'
import { renderPoster } from '../src/poster/poster.ts'

// Rows of one colour, one below the other, down a column with nothing in it; the bands were 19 and 44 wide.
test.each([
  ['midnight', 10],
  ['botanical', 30],
])('%s has no band of more than %i pixels', async (theme, widest) => {
  const folder = await mkdtemp(join(tmpdir(), 'banding-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'poster.png')
  const input = { title: 'The Night Market', theme, size: 'square', language: 'auto', format: 'png' }
  await renderPoster({ input, media: new Map(), bounds: usualPictureBounds, file, ffmpeg: null, onProgress: () => {} })
  const column = { left: 30, top: 0, width: 1, height: 1080 }
  const colors = await sharp(file).extract(column).removeAlpha().raw().toBuffer()
  let [run, longest] = [1, 1]
  for (let i = 3; i < colors.length; i += 3) {
    run = colors.subarray(i, i + 3).equals(colors.subarray(i - 3, i)) ? run + 1 : 1
    longest = Math.max(longest, run)
  }
  expect(longest).toBeLessThanOrEqual(widest)
})

test('no value changes by more than one step, and an edge not at all', () => {
  const [width, height] = [200, 120]
  const pixels = new Uint8ClampedArray(width * height * 4).fill(255)
  for (let i = 0; i < width * height; i++) {
    const [x, y] = [i % width, Math.floor(i / width)]
    pixels.fill(x < 100 ? 20 + Math.floor(y / 30) : 220, i * 4, i * 4 + 3)
  }
  const before = pixels.slice()
  deband(pixels, width, height)
  const changes = pixels.map((value, i) => Math.abs(value - before[i]!))
  expect(Math.max(...changes)).toBe(1)
  for (let y = 0; y < height; y++) {
    const row = y * width * 4
    expect([...pixels.subarray(row + 90 * 4, row + 110 * 4)]).toEqual([...before.subarray(row + 90 * 4, row + 110 * 4)])
  }
  // What is even stays even.
  expect(changes.every((change, i) => (i >> 2) % width < 126 || change === 0)).toBe(true)
})
