// Makes the samples of the models that ship, with small pictures of them: `npm run samples`.
// test/catalog/builtin-samples.test.ts holds the files against the catalog.
import { copyFileSync, mkdtempSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createBuiltinEngine } from '@mediagen/builtin/engine.ts'
import sharp from 'sharp'
import { makeSample, sampleWorks } from '../packages/builtin/catalog/samples.ts'
import { createProber } from '../src/files/media/prober.ts'

// Half again as large as a card shows it, and of a few kilobytes: the catalog loads them all.
const small = { width: 400, height: 300, fit: 'inside' } as const
const smallQuality = 55
const bounds = { pixels: 50_000_000, side: 10_000 }
const [first] = sampleWorks
const folder = dirname(first?.file ?? '')
const scratch = mkdtempSync(join(tmpdir(), 'mediagen-samples-'))
const engine = createBuiltinEngine()
const prober = createProber({ maxRssBytes: 1e9, spare: 0, timeoutMs: 60_000, bounds, ffmpegPath: null })
try {
  mkdirSync(folder, { recursive: true })
  const files = sampleWorks.flatMap(({ file, preview }) => [file, ...(preview === null ? [] : [preview])])
  const names = new Set(files.map((file) => basename(file)))
  for (const name of readdirSync(folder)) if (!names.has(name)) rmSync(join(folder, name))
  for (const [index, work] of sampleWorks.entries()) {
    const run = join(scratch, String(index))
    const made = await makeSample(engine, work, run)
    const previewPath = join(run, 'preview')
    const { size: bytes } = statSync(made)
    const facts = await prober.inspect({ path: made, name: basename(work.file), bytes, previewPath, owner: 'samples' })
    copyFileSync(made, work.file)
    if (work.preview !== null && work.model.modality === 'image')
      await sharp(made)
        .resize(small)
        .webp({ quality: smallQuality, effort: 6, smartSubsample: true })
        .toFile(work.preview)
    else if (work.preview !== null) copyFileSync(previewPath, work.preview)
    const { width, height, durationSeconds } = facts
    console.log(`${basename(work.file)}: ${bytes} bytes, ${width} × ${height}, ${durationSeconds} s`)
  }
} finally {
  await engine.close()
  await prober.close()
  rmSync(scratch, { recursive: true, force: true })
}
