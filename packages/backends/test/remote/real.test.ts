// The same promises against real servers, where environment variables name them: MEDIAGEN_TEST_COMFYUI_URL,
// MEDIAGEN_TEST_COG_URL, MEDIAGEN_TEST_SD_URL, MEDIAGEN_TEST_OPENAI_URL. Inputs are JSON in …_INPUT. None of them may cost money.
import { readdir } from 'node:fs/promises'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { describe, expect, test } from 'vitest'
import { abandonRun, openRemote, outcomeOf, startKeptRun, toSpec } from './remote-run.ts'

const settings = {
  COMFYUI: { kind: 'comfyui', workflow: 'real-workflow.json', inputs: { width: '/1/inputs/width' } },
  COG: { kind: 'cog' },
  SD: { kind: 'sd-server' },
  OPENAI: { kind: 'openai', task: 'image', model: 'default' },
}

const defaultInputs: Readonly<Record<string, JsonObject>> = { COMFYUI: { width: 64 } }

const real = Object.entries(settings).map(([name, { kind, ...more }]) => {
  const url = process.env[`MEDIAGEN_TEST_${name}_URL`]
  const written = process.env[`MEDIAGEN_TEST_${name}_INPUT`]
  const input = written ? (JSON.parse(written) as JsonObject) : (defaultInputs[name] ?? { prompt: 'a boat' })
  return { kind, url, input, spec: toSpec(kind, url ?? 'http://127.0.0.1:1', more) }
})

// Time passes as it does: real servers take theirs.
const realTime = {
  nowMs: Date.now,
  pause: (ms: number) => new Promise<void>((done) => void setTimeout(done, Math.min(ms, 1000))),
}

describe.each(real)('a real $kind', ({ kind, url, input, spec }) => {
  test.runIf(url)('is ready, makes a file, and goes on after a crash', async () => {
    await using engine = openRemote(kind, {}, realTime)
    expect(await engine.unready(spec)).toBeNull()
    await using run = await startKeptRun({ input, jobId: `job_${Date.now()}` })
    expect(await outcomeOf(engine.run(spec, run))).toHaveProperty('files')
    expect((await readdir(run.folder)).length).toBeGreaterThan(0)
    const { jobId } = run
    const submitted = run.saved.find((note) => (note as { state?: unknown } | null)?.state === 'submitted')
    await using next = await startKeptRun({ input, jobId, checkpoint: submitted ?? null })
    expect(await outcomeOf(engine.run(spec, next))).toHaveProperty('files')
  })

  test.runIf(url)('a cancel is answered', async () => {
    await using engine = openRemote(kind, {}, realTime)
    await using run = await startKeptRun({ input, jobId: `job_${Date.now()}` })
    await expect(engine.cancel?.(spec, await abandonRun(engine, spec, run))).resolves.not.toThrow()
  })
})
