// The store contract: token buckets that processes share.
import { expect, test } from 'vitest'
import type { OpenTestStore } from './fixture.ts'

const size = { perSecond: 10, burst: 20 }

/** Declares the tests. */
export function rateTests(openStore: OpenTestStore): void {
  test('a bucket is full at first, gives what it has, and fills with time', async () => {
    const clock = { ms: 1_000_000, nowMs: () => clock.ms }
    await using store = await openStore(clock)
    expect(await store.takeTokens('a', size, 15)).toBe(15)
    expect(await store.takeTokens('a', size, 15)).toBe(5)
    expect(await store.takeTokens('a', size, 1)).toBe(0)
    expect(await store.takeTokens('b', size, 50), 'at most a burst').toBe(20)
    clock.ms += 350
    expect(await store.takeTokens('a', size, 15)).toBe(3)
    clock.ms += 50
    expect(await store.takeTokens('a', size, 15), 'fractions are kept').toBe(1)
    clock.ms += 60_000
    expect(await store.takeTokens('a', size, 50)).toBe(20)
  })

  test('concurrent takers share the tokens', async () => {
    const clock = { nowMs: () => 1_000_000 }
    await using store = await openStore(clock)
    const taken = await Promise.all(Array.from({ length: 30 }, () => store.takeTokens('a', size, 3)))
    expect(taken.reduce((sum, count) => sum + count)).toBe(20)
  })
}
