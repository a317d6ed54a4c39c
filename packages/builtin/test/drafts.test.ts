// Drafts of films and pictures: small pictures of what is being made, while it is made.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runOf } from '@mediagen/engine/run-of.ts'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { completeInput, findEntry } from '../catalog/entries.ts'
import { createBuiltinEngine } from '../src/engine.ts'

test.each([
  ['builtin/video/motion/text-to-video', { duration: 1, fps: 24, width: 320, height: 180 }, 4, 320],
  ['builtin/image/art/text-to-image', { width: 1200, height: 900 }, 1, 384],
  ['builtin/image/art/text-to-image', { width: 256, height: 256 }, 0, 0],
])('%s of %j shows %i', async (id, fields, count, width) => {
  const engine = createBuiltinEngine({ poolSize: 1 })
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-drafts-'))
  try {
    const entry = findEntry(id)
    const shown: string[] = []
    const input = completeInput(entry, { prompt: 'a lighthouse', ...fields })
    const preview = (file: string) => void shown.push(file)
    const { files } = await engine.run(entry.engine, runOf({ folder, input, preview }))
    expect(shown).toHaveLength(count)
    expect(files.every((file) => !shown.includes(file))).toBe(true)
    for (const file of shown)
      expect(await sharp(readFileSync(join(folder, file))).metadata()).toMatchObject({ format: 'webp', width })
  } finally {
    await engine.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
