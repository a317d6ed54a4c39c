// What metrics cost a server that nobody asks for them.
import perfHooks from 'node:perf_hooks'
import { expect, test, vi } from 'vitest'
import { createMetrics } from '../../src/app/observe/metrics.ts'

test('the event loop is watched from the first reading of the metrics on, and once', async () => {
  using watched = vi.spyOn(perfHooks, 'monitorEventLoopDelay')
  const metrics = createMetrics()
  expect(watched).not.toHaveBeenCalled()
  for (const _ of [1, 2]) {
    const { body } = await metrics.render()
    expect(body).toMatch(/^nodejs_eventloop_lag_p99_seconds \S+$/m)
    expect(body).toMatch(/^process_resident_memory_bytes \d/m)
    expect(body).toMatch(/^mediagen_jobs_running 0$/m)
  }
  expect(watched).toHaveBeenCalledOnce()
})
