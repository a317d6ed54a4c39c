// A run that waits for its turn at another server: its time limit does not count, and other ends of it do.
import type { EngineRun } from '@mediagen/engine/engine.ts'
import { afterEach, expect, test, vi } from 'vitest'
import { leaveNothing, startBench, untilAborted } from './fixture.ts'

// A minute, for which tests wait for the end of a job, is longer than it takes twice.
const limitSeconds = 20

afterEach(() => void vi.useRealTimers())

test('a turn at another server is waited for longer than the time limit, which counts again afterwards', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  async function passLimit(): Promise<void> {
    vi.advanceTimersByTime((limitSeconds + 1) * 1000)
  }
  let ends = false
  const run = async (run: EngineRun) => {
    await run.waiting(Promise.resolve().then(passLimit))
    if (!ends) return leaveNothing()
    await passLimit()
    return untilAborted(run)
  }
  await using bench = await startBench({ run, timeoutSeconds: limitSeconds })
  expect(await bench.end(await bench.start())).toMatchObject({ status: 'succeeded' })
  ends = true
  expect(await bench.end(await bench.start())).toMatchObject({ status: 'failed', error: { code: 'timeout' } })
})

test('a deadline ends the wait for a turn at another server', async () => {
  await using bench = await startBench({ run: (run) => run.waiting(untilAborted(run)) })
  const job = await bench.start(10, { expiresInMs: 300 })
  expect(await bench.end(job)).toMatchObject({ status: 'canceled' })
})
