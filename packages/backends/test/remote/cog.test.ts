// cog: what was met of a real 0.16.12, and a server that always breaks after the work.
import { expect, test } from 'vitest'
import { createFakeCog } from './fakes/cog.ts'
import { serveFake } from './fakes/fake.ts'
import { openRemote, outcomeOf, startKeptRun, toSpec } from './remote-run.ts'

test('a cancel ends the run there, which goes on when its client only leaves', async () => {
  const fake = createFakeCog({ holds: true })
  await using served = await serveFake(fake)
  await using engine = openRemote('cog')
  const spec = toSpec('cog', served.origin)
  await using run = await startKeptRun()
  const running = outcomeOf(engine.run(spec, run))
  await expect.poll(() => fake.ran).toHaveLength(1)
  run.abort.abort('canceled')
  expect(await running).not.toHaveProperty('files')
  expect(await engine.unready(spec)).toBeNull()
  expect(served.requests().filter((one) => one.endsWith('/cancel'))).toEqual([])
  const past = { jobId: run.jobId, model: run.model, checkpoint: run.saved.at(-1) ?? null, signal: run.signal }
  await engine.cancel?.(spec, past)
  expect(fake.canceled).toEqual(fake.ran)
  expect((await (await fetch(`${served.origin}/health-check`)).json()).status).toBe('READY')
})

test('a run that a crash left behind is ended there before another begins', async () => {
  const fake = createFakeCog({ holds: true })
  await using served = await serveFake(fake)
  await using engine = openRemote('cog')
  const spec = toSpec('cog', served.origin)
  await using run = await startKeptRun()
  const running = outcomeOf(engine.run(spec, run))
  await expect.poll(() => fake.ran).toHaveLength(1)
  run.abort.abort('stopping')
  await running
  await using next = await startKeptRun({ checkpoint: run.saved.at(-1) ?? null })
  const second = outcomeOf(engine.run(spec, next))
  await expect.poll(() => fake.ran).toHaveLength(2)
  expect(fake.canceled).toEqual(fake.ran.slice(0, 1))
  next.abort.abort('stopping')
  await second
})

test.each(['cog', 'sd-server', 'comfyui'])(
  'a %s that breaks after each submission gets five, and no more',
  async (kind) => {
    const lost = { status: 404, json: { error: 'Job not found' } }
    await using served = await serveFake({
      answer: ({ method, path }) =>
        method === 'GET' || path.endsWith('/cancel')
          ? lost
          : { status: 500, json: { detail: 'cannot write the answer' } },
    })
    await using engine = openRemote(kind)
    await using run = await startKeptRun()
    const outcome = await outcomeOf(engine.run(toSpec(kind, served.origin, { workflow: 'workflow.json' }), run))
    expect(outcome).toMatchObject({
      code: 'submission_lost',
      retryable: true,
      message: expect.stringContaining(`${kind} lost the job 5 times. At last, ${kind} answered 500`),
    })
    expect(served.log.filter(({ method, path }) => method !== 'GET' && !path.endsWith('/cancel'))).toHaveLength(5)
  },
)
