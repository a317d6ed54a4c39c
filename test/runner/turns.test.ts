// A run that waits for its turn at another server: its time limit does not count, and other ends of it do.
import type { EngineRun } from '@mediagen/engine/engine.ts'
import { expect, test } from 'vitest'
import { leavePicture, startBench, untilAborted } from './fixture.ts'

test('a turn at another server is waited for longer than the time limit, which counts again afterwards', async () => {
  const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1200))
  let ends = false
  const run = async (run: EngineRun) => {
    await run.waiting(turn())
    return ends ? untilAborted(run) : leavePicture(run)
  }
  await using bench = await startBench({ run, timeoutSeconds: 1 })
  expect(await bench.end(await bench.start())).toMatchObject({ status: 'succeeded' })
  ends = true
  expect(await bench.end(await bench.start())).toMatchObject({ status: 'failed', error: { code: 'timeout' } })
})

test('a deadline ends the wait for a turn at another server', async () => {
  await using bench = await startBench({ run: (run) => run.waiting(untilAborted(run)) })
  const job = await bench.start(10, { expiresInMs: 300 })
  expect(await bench.end(job)).toMatchObject({ status: 'canceled' })
})
