// cog: what was met of a real 0.16.12, and a server that always breaks after the work.
import { expect, test } from 'vitest'
import { createFakeCog } from './fakes/cog.ts'
import { serveFake } from './fakes/fake.ts'
import { openRemote, outcomeOf, startKeptRun, toSpec } from './remote-run.ts'

test('a run goes on there when its client only leaves; a cancel ends it, and so does the run that takes over', async () => {
  for (const isCanceled of [true, false]) {
    const fake = createFakeCog({ holds: true })
    await using served = await serveFake(fake)
    await using engine = openRemote('cog')
    const spec = toSpec('cog', served.origin)
    await using run = await startKeptRun()
    const running = outcomeOf(engine.run(spec, run))
    await expect.poll(() => fake.ran).toHaveLength(1)
    run.abort.abort('stopping')
    expect(await running).not.toHaveProperty('files')
    expect(fake.canceled).toEqual([])
    const checkpoint = run.saved.at(-1) ?? null
    if (isCanceled) {
      await engine.cancel?.(spec, { jobId: run.jobId, model: run.model, checkpoint, signal: run.signal })
      expect(await (await fetch(`${served.origin}/health-check`)).json()).toMatchObject({ status: 'READY' })
    } else {
      await using next = await startKeptRun({ checkpoint })
      const second = outcomeOf(engine.run(spec, next))
      await expect.poll(() => fake.ran).toHaveLength(2)
      next.abort.abort('stopping')
      await second
    }
    expect(fake.canceled).toEqual(fake.ran.slice(0, 1))
  }
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
