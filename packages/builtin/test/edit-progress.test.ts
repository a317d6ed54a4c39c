// An edit of a large picture tells how far it is, though all its time goes into one or two calls that tell nothing.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { expect, onTestFinished, test } from 'vitest'
import { usualPictureBounds } from '@mediagen/engine/media.ts'
import { renderEdit } from '../src/edit/edit.ts'

test('progress moves at least ten times, and never back', async () => {
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
  expect(new Set(progress).size).toBeGreaterThanOrEqual(10)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
})
