// An edit of a large picture reports progress, although all its time goes into one or two library calls that report none.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { usualPictureBounds } from '@mediagen/engine/media.ts'
import sharp from 'sharp'
import { expect, onTestFinished, test, vi } from 'vitest'
import { renderEdit } from '../src/edit/edit.ts'
import { pace } from '../src/edit/pace.ts'

test('during a call, progress moves ten times a second at the expected pace, and stops short of its end', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { promise, resolve } = Promise.withResolvers<string>()
  const progress: number[] = []
  const done = pace({ onProgress: (fraction) => void progress.push(fraction) }, [0.2, 0.8], 2, promise)
  vi.advanceTimersByTime(1000)
  expect(progress).toHaveLength(10)
  expect(progress.at(-1)).toBeCloseTo(0.5)
  vi.advanceTimersByTime(60_000)
  expect(progress.at(-1)).toBeCloseTo(0.2 + 0.6 * 0.95)
  resolve('done')
  expect(await done).toBe('done')
  expect(progress.at(-1)).toBe(0.8)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
})

test('progress moves during an edit, and never back', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'edit-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const source = join(folder, 'source.jpg')
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const
  await sharp({ create: { width: 3000, height: 3000, channels: 3, background: '#888', noise } }).toFile(source)
  const progress: number[] = []
  await renderEdit({
    input: { operations: [{ blur: 2 }], megapixels: 16, max_width: 4096, max_height: 4096, format: 'jpeg' },
    media: new Map([['/image', source]]),
    bounds: usualPictureBounds,
    ffmpeg: null,
    file: join(folder, 'output'),
    onProgress: (fraction) => void progress.push(fraction),
  })
  // Not only when the picture is open, edited and written.
  expect(progress.filter((fraction) => ![0.2, 0.8, 0.95].includes(fraction))).not.toEqual([])
  expect(progress.at(-1)).toBe(0.95)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
})
