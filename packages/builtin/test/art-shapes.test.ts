// Patterns fill whatever shape they are asked for: no part of a banner is left empty. (Landscapes may have skies.)

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { usualPictureBounds } from '@mediagen/engine/media.ts'
import sharp from 'sharp'
import { expect, onTestFinished, test } from 'vitest'
import { renderArt } from '../src/art/art.ts'

const [width, height, parts] = [1200, 240, 6]
/** Between neighbours of a picture half as large, so that grain hardly counts; an empty ground has less than 0.3. */
const leastDifference = 0.5

test.each(['flow', 'glass', 'truchet', 'orbits', 'blocks', 'nebula', 'midcentury'])('%s', async (style) => {
  const folder = await mkdtemp(join(tmpdir(), 'shapes-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'art.png')
  for (const seed of [1, 3]) {
    const input = { prompt: 'banner', style, palette: 'auto', seed, width, height, format: 'png' }
    await renderArt({ input, media: new Map(), bounds: usualPictureBounds, file, ffmpeg: null, onProgress: () => {} })
    for (let part = 0; part < parts; part++) {
      const area = { left: (width / parts) * part, top: 0, width: width / parts, height }
      const cut = await sharp(file).extract(area).greyscale().png().toBuffer()
      const { data, info } = await sharp(cut)
        .resize(Math.round(area.width / 4))
        .raw()
        .toBuffer({ resolveWithObject: true })
      let sum = 0
      for (let i = 1; i < data.length; i++) if (i % info.width > 0) sum += Math.abs(data[i]! - data[i - 1]!)
      expect(sum / data.length, `seed ${seed}, part ${part}`).toBeGreaterThan(leastDifference)
    }
  }
})
