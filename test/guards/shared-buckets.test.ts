// Buckets that processes share, by a held clock.
import { expect, test } from 'vitest'
import { type BucketSize, takeFromBucket } from '../../src/core/accounts/rate.ts'
import { createSharedBuckets } from '../../src/guards/shared-buckets.ts'

/** Processes over one store. */
function open(size: BucketSize, processes = 2) {
  const clock = { ms: 1_000_000 }
  const store = { asked: 0, broken: false, alone: false }
  const buckets = new Map<string, number>()
  const shared = {
    isAlone: () => store.alone,
    async takeTokens(name: string, of: BucketSize, most: number) {
      store.asked += 1
      if (store.broken) throw new Error('the disk is full')
      const { taken, fullAtMs } = takeFromBucket(of, buckets.get(name) ?? 0, clock.ms, most)
      buckets.set(name, fullAtMs)
      return taken
    },
  }
  const opened = Array.from({ length: processes }, () => createSharedBuckets('test', size, () => clock.ms, shared))
  /** How many of so many requests at once are let through by a process. */
  const pass = async (process: number, requests: number, amount = 1): Promise<number> => {
    const takes = Array.from({ length: requests }, async () => opened[process]?.take('key', amount))
    return (await Promise.all(takes)).filter((waitMs) => waitMs === 0).length
  }
  return { clock, store, pass, take: (process: number, amount = 1) => opened[process]?.take('key', amount) }
}

test('a burst is let through once, however many processes it is spread over', async () => {
  const { pass } = open({ perSecond: 50, burst: 50 }, 5)
  const passed = await Promise.all([0, 1, 2, 3, 4].map((process) => pass(process, 50)))
  expect(passed.reduce((sum, count) => sum + count)).toBe(50)
})

test('one process may use all of it', async () => {
  const { pass } = open({ perSecond: 50, burst: 50 })
  expect(await pass(0, 80)).toBe(50)
})

test('over time exactly as many are let through as the rate allows, wherever they come in', async () => {
  const { clock, pass } = open({ perSecond: 50, burst: 50 })
  let passed = 0
  const seconds = 20
  for (let ms = 0; ms < seconds * 1000; ms += 10) {
    passed += (await pass(0, 3)) + (await pass(1, 1))
    clock.ms += 10
  }
  expect(passed).toBeLessThanOrEqual(50 + 50 * seconds)
  expect(passed).toBeGreaterThan(50 * seconds)
})

test('the store is asked once for several requests, and not for each that is refused', async () => {
  const { clock, store, pass } = open({ perSecond: 80, burst: 80 })
  for (let ms = 0; ms < 1000; ms += 50) {
    await pass(0, 3)
    clock.ms += 50
  }
  expect(store.asked, '60 requests in a second').toBeLessThanOrEqual(7)
  store.asked = 0
  for (let ms = 0; ms < 1000; ms += 10) {
    await pass(0, 20)
    clock.ms += 10
  }
  expect(store.asked, '2000 requests in a second').toBeLessThanOrEqual(30)
})

test('a refusal says how long to wait, and a smaller available amount is given', async () => {
  const { clock, take } = open({ perSecond: 1000, burst: 4000 })
  expect(await take(0, 3800)).toBe(0)
  expect(await take(0, 1000)).toBeGreaterThanOrEqual(800)
  expect(await take(0, 200), 'what was there is held').toBe(0)
  expect(await take(0, 1)).toBeGreaterThan(0)
  clock.ms += 1000
  expect(await take(1, 1000)).toBe(0)
})

test('a process by itself makes no query', async () => {
  const { store, pass } = open({ perSecond: 50, burst: 50 })
  store.alone = true
  expect(await pass(0, 80)).toBe(50)
  expect(store.asked).toBe(0)
})

test('a store that takes no changes leaves each process its own limit', async () => {
  const { store, pass } = open({ perSecond: 50, burst: 50 })
  store.broken = true
  expect(await pass(0, 80)).toBe(50)
})

test('a clock that went back leaves an empty bucket at worst', () => {
  const size = { perSecond: 10, burst: 10 }
  const { fullAtMs } = takeFromBucket(size, 0, 1_000_000, 10)
  expect(takeFromBucket(size, fullAtMs, 0, 10).taken).toBe(0)
  expect(takeFromBucket(size, takeFromBucket(size, fullAtMs, 0, 10).fullAtMs, 1000, 10).taken).toBe(10)
})
