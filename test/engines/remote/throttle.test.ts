// The throttle: of the runs that wait in this process one asks the store, and the others follow in order.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createThrottle } from '../../../src/engines/remote/throttle.ts'

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

test('runs at a provider without limits do not wait for one another’s answers', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<number>()
  const asked: string[] = []
  const store = {
    ...createOnePlace(),
    enterProvider: ({ jobId }: { jobId: string }) => (asked.push(jobId), answered),
  }
  const throttle = createThrottle(store, pause)
  const entering = ['a', 'b', 'c'].map((jobId) => throttle.enter({ name: 'own', kind: 'openai' }, jobId, 1000, forever))
  await Promise.resolve()
  expect(asked).toEqual(['a', 'b', 'c'])
  answer(0)
  await Promise.all(entering)
})

test('runs that wait for the end of a pause ask one after the other, also where nothing else is limited', async () => {
  const state = { isPaused: true, asking: 0, most: 0 }
  const store = {
    ...createOnePlace(),
    async enterProvider() {
      state.asking += 1
      await new Promise((done) => setImmediate(done))
      state.most = Math.max(state.most, state.asking)
      state.asking -= 1
      return state.isPaused ? 30_000 : 0
    },
  }
  const waits: PromiseWithResolvers<void>[] = []
  const throttle = createThrottle(store, () => {
    waits.push(Promise.withResolvers())
    return waits.at(-1)?.promise ?? Promise.resolve()
  })
  const own = { name: 'own', kind: 'openai' }
  const first = throttle.enter(own, 'a', 1000, forever)
  while (waits.length === 0) await new Promise((done) => setImmediate(done))
  state.most = 0
  const others = ['b', 'c', 'd'].map((jobId) => throttle.enter(own, jobId, 1000, forever))
  state.isPaused = false
  waits[0]?.resolve()
  await Promise.all([first, ...others])
  expect(state.most).toBe(1)
})

test.each([1, undefined])(
  'a run that is given up while it gets its place keeps none, with concurrency %s',
  async (concurrency) => {
    const store = createOnePlace()
    const abort = new AbortController()
    const throttle = createThrottle(
      {
        ...store,
        async enterProvider(entry: { jobId: string }) {
          const waitMs = await store.enterProvider(entry)
          abort.abort(new Error('canceled'))
          return waitMs
        },
      },
      pause,
    )
    const place = { name: 'fal', kind: 'fal', ...(concurrency !== undefined && { concurrency }) }
    await expect(throttle.enter(place, 'a', 1000, abort.signal)).rejects.toThrow('canceled')
    expect(store.state.taken).toBeNull()
  },
)
