// Requests and bytes per second of each key, by a held clock.
import { expect, test } from 'vitest'
import { createKeyRates, type RateLimits } from '../../src/rpc/keys/key-rates.ts'

const key = { keyId: 'key_a' }

function open(limits: Partial<RateLimits>) {
  const clock = { ms: 0 }
  const all = { rateLimit: 0, byteRate: 0, maxBodyBytes: 1000, ...limits }
  return { clock, rates: createKeyRates(all, null, () => clock.ms) }
}

/** After how many seconds the caller may come again; 0 when it was let through. */
async function retryAfter(step: () => Promise<void>): Promise<number | undefined> {
  try {
    await step()
    return 0
  } catch (error) {
    expect(error).toMatchObject({ code: 'rate_limited' })
    return (error as { details: { retryAfterSeconds?: number } }).details.retryAfterSeconds
  }
}

test('bytes: a burst of four seconds, then the rate; another key has its own', async () => {
  const { clock, rates } = open({ byteRate: 1000 })
  const send = (bytes: number) => retryAfter(() => rates.spend(key, bytes))
  expect(await Promise.all([send(1000), send(1000), send(1000), send(1000)])).toEqual([0, 0, 0, 0])
  expect(await send(500)).toBe(1)
  expect(await retryAfter(() => rates.spend({ keyId: 'key_b' }, 500))).toBe(0)
  clock.ms += 500
  expect(await send(500)).toBe(0)
  expect(await send(1000)).toBe(1)
  clock.ms += 60_000
  expect(await send(4000)).toBe(0)
  expect(await send(3500)).toBe(4)
})

test('the largest request that is allowed passes, however low the rate', async () => {
  const { clock, rates } = open({ byteRate: 10, maxBodyBytes: 1000 })
  expect(await retryAfter(() => rates.spend(key, 1000))).toBe(0)
  expect(await retryAfter(() => rates.spend(key, 1000))).toBe(100)
  clock.ms += 100_000
  // What is larger is refused elsewhere, by its size.
  expect(await retryAfter(() => rates.spend(key, 5000))).toBe(0)
})

test('0 is no limit', async () => {
  const { rates } = open({})
  const waits = await Promise.all(Array.from({ length: 1000 }, () => retryAfter(() => rates.limit(key))))
  expect(new Set(waits)).toEqual(new Set([0]))
  expect(await retryAfter(() => rates.spend(key, 1e15))).toBe(0)
})
