// What a process notices of others in its data directory.
import { expect, test } from 'vitest'
import { startPipeline } from '../../src/app/pipeline.ts'
import { readConfig } from '../../src/config.ts'
import { systemClock } from '../../src/core/clock.ts'
import type { Store } from '../../src/core/store.ts'
import { noTraces } from '../../src/core/traces.ts'
import { keepLog } from '../kept-log.ts'

test('a look at the data directory that fails, as without file descriptors, stops nothing', async () => {
  let looks = 0
  function isAlone(): boolean {
    looks += 1
    if (looks === 2) throw new Error('EMFILE: too many open files')
    return true
  }
  const { log } = keepLog()
  const metrics = { countCalls: () => () => {}, countGrpcRefusal: () => {} }
  const deps = { store: {} as Store, clock: systemClock, log, traces: noTraces, metrics, isAlone, signIn: null }
  using _pipeline = startPipeline(readConfig({}), deps)
  await expect.poll(() => looks).toBeGreaterThan(2)
})
