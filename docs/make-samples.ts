// Makes the samples of the models that ship, with pictures of films and sounds: `npm run samples`.
// test/catalog/samples.test.ts holds the files against the catalog.
import { copyFileSync, mkdtempSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { makeSample, sampleWorks } from '../packages/builtin/catalog/samples.ts'
import { createBuiltinEngine } from '@mediagen/builtin/engine.ts'
import { createProber } from '@mediagen/media/prober.ts'

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
    if (work.preview !== null) copyFileSync(previewPath, work.preview)
    const { width, height, durationSeconds } = facts
    console.log(`${basename(work.file)}: ${bytes} bytes, ${width} × ${height}, ${durationSeconds} s`)
  }
} finally {
  await engine.close()
  await prober.close()
  rmSync(scratch, { recursive: true, force: true })
}
