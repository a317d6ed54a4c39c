// The throttle: of the runs that wait in this process one asks the store, and the others follow in order.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createThrottle } from '../../src/remote/throttle.ts'

const provider = { name: 'fal', kind: 'fal', concurrency: 1 }
const forever = new AbortController().signal

/** A store with one place. */
function createOnePlace() {
  const state = { taken: null as string | null, asked: 0 }
  return {
    state,
    enterProvider: async ({ jobId }: { jobId: string }) => {
      state.asked += 1
      if (state.taken !== null) return 60_000
      state.taken = jobId
      return 0
    },
    leaveProvider: async () => void (state.taken = null),
    pauseProvider: async () => {},
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal })

test('a run that leaves lets the next one in at once, and only one asks', async () => {
  const store = createOnePlace()
  const throttle = createThrottle(store, pause)
  const order: string[] = []
  const entering = ['a', 'b', 'c', 'd'].map(async (jobId) => {
    await throttle.enter(provider, jobId, 1000, forever)
    order.push(jobId)
    await throttle.leave('fal', jobId)
  })
  await Promise.all(entering)
  expect(order).toEqual(['a', 'b', 'c', 'd'])
  expect(store.state.asked).toBeLessThan(12)
})

test('a run that is given up while it waits holds up nobody', async () => {
  const store = createOnePlace()
  const throttle = createThrottle(store, pause)
  await throttle.enter(provider, 'a', 1000, forever)
  const abort = new AbortController()
  const given = throttle.enter(provider, 'b', 1000, abort.signal)
  const next = throttle.enter(provider, 'c', 1000, forever)
  abort.abort(new Error('canceled'))
  await expect(given).rejects.toThrow('canceled')
  await throttle.leave('fal', 'a')
  await next
  expect(store.state.taken).toBe('c')
})
