// The same promises against real servers, where environment variables name them: MEDIAGEN_TEST_COMFYUI_URL,
// MEDIAGEN_TEST_COG_URL, MEDIAGEN_TEST_SD_URL, MEDIAGEN_TEST_OPENAI_URL. Inputs are JSON in …_INPUT. None of them may cost money.
import { readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
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
  pause: (ms: number, signal: AbortSignal) => sleep(Math.min(ms, 1000), undefined, { signal }),
}

describe.each(real)('a real $kind', ({ kind, url, input, spec }) => {
  test.runIf(url)('is ready, makes a file, and goes on after a crash', async () => {
    await using engine = openRemote(kind, {}, realTime)
    expect(await engine.unready(spec)).toBeNull()
    await using run = await startKeptRun({ input, jobId: `job_${Date.now()}` })
    expect(await outcomeOf(engine.run(spec, run))).toHaveProperty('files')
    expect((await readdir(await run.folder())).length).toBeGreaterThan(0)
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

const [comfyui] = real

test.runIf(comfyui?.url)(
  'the progress of a real comfyui comes over its socket, and a cancel ends the run there',
  async () => {
    await using engine = openRemote('comfyui', {}, realTime)
    const spec = toSpec('comfyui', comfyui?.url ?? '', {
      workflow: 'real-slow-workflow.json',
      inputs: { color: '/1/inputs/color' },
    })
    // Whatever the server has made already, it does not make again.
    const input = { color: Date.now() % 16_000_000 }
    await using run = await startKeptRun({ input, jobId: `job_${Date.now()}` })
    const progress: number[] = []
    const outcome = outcomeOf(
      engine.run(spec, {
        ...run,
        onProgress(fraction) {
          progress.push(fraction)
          if (fraction > 0.3) run.abort.abort('canceled')
        },
      }),
    )
    expect(await outcome).toBeInstanceOf(Error)
    expect(progress[0]).toBeGreaterThan(0)
    const past = { jobId: run.jobId, model: run.model, checkpoint: run.saved.at(-1) ?? null }
    const verdict = await engine.cancel?.(spec, { ...past, signal: AbortSignal.timeout(30_000) })
    expect(verdict).toMatchObject({ n: 1, verdict: 'canceled' })
    const { id } = (past.checkpoint as unknown as { ref: { id: string } }).ref
    const stateOf = async () => (await fetch(`${comfyui?.url}/queue`)).text()
    await expect.poll(stateOf).not.toContain(id)
  },
)
