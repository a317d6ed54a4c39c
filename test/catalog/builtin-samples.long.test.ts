// Every sample that ships is what its model makes of its input today: change a renderer, and `npm run samples` is due.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createBuiltinEngine } from '@mediagen/builtin/engine.ts'
import { afterAll, expect, test } from 'vitest'
import { makeSample, sampleWorks } from '../../packages/builtin/catalog/samples.ts'

const scratch = mkdtempSync(join(tmpdir(), 'mediagen-samples-'))
const engine = createBuiltinEngine({ poolSize: 2 })
afterAll(async () => {
  await engine.close()
  rmSync(scratch, { recursive: true })
})

test.each(sampleWorks.map((work) => [basename(work.file), work] as const))('%s', async (name, work) => {
  const made = readFileSync(await makeSample(engine, work, join(scratch, name)))
  const kept = readFileSync(work.file)
  // Another processor may round differently; the same one gives the same bytes.
  expect(Math.abs(made.length - kept.length) / kept.length).toBeLessThan(0.02)
})
