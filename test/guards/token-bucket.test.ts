// Token buckets by a held clock: so much at once, so much again each second, debts included.
import { expect, test } from 'vitest'
import { createTokenBuckets } from '../../src/guards/token-bucket.ts'

function open(size: { perSecond: number; burst: number }) {
  const clock = { ms: 0 }
  return { clock, buckets: createTokenBuckets(size, () => clock.ms) }
}

test('a burst is taken at once, then as much as comes', () => {
  const { clock, buckets } = open({ perSecond: 1000, burst: 1500 })
  expect([1, 2, 3].map(() => buckets.take('a', 500))).toEqual([0, 0, 0])
  expect(buckets.take('a', 500)).toBe(500)
  clock.ms += 499
  expect(buckets.take('a', 500)).toBe(1)
  clock.ms += 1
  expect(buckets.take('a', 500)).toBe(0)
  expect(buckets.take('a', 500)).toBe(500)
})

test('a refusal takes no tokens, and no bucket holds more than a burst', () => {
  const { clock, buckets } = open({ perSecond: 1, burst: 2 })
  expect(buckets.take('a', 3)).toBe(1000)
  expect(buckets.take('a', 2)).toBe(0)
  clock.ms += 3_600_000
  expect(buckets.take('a', 2)).toBe(0)
  expect(buckets.take('a', 1)).toBe(1000)
})

test('names do not share', () => {
  const { buckets } = open({ perSecond: 1, burst: 1 })
  expect([buckets.take('a', 1), buckets.take('b', 1)]).toEqual([0, 0])
})

test('a debt is worked off before anything is given', () => {
  const { clock, buckets } = open({ perSecond: 10, burst: 10 })
  buckets.owe('a', 30)
  expect(buckets.take('a', 0)).toBe(2000)
  clock.ms += 2000
  expect(buckets.take('a', 0)).toBe(0)
})
