// Reads of the keys that sign URLs: they do not overtake each other, or an old answer would bring a revoked key back.
import { expect, test } from 'vitest'
import { everySecond } from '../../src/core/every-second.ts'
import type { SigningKey } from '../../src/core/store.ts'
import { startUrlKeys } from '../../src/files/url-keys.ts'

const keyOf = (number: number): SigningKey => ({ number, secret: Buffer.alloc(32, number), createdAtMs: number })

test('a slow read is awaited before the next one, and a failed one is repeated', async () => {
  let seconds = 0
  const stop = everySecond(() => void (seconds += 1))
  const requested: PromiseWithResolvers<readonly SigningKey[]>[] = []
  const signingKeys = () => {
    const answer = Promise.withResolvers<readonly SigningKey[]>()
    requested.push(answer)
    return answer.promise
  }
  const starting = startUrlKeys({ signingKeys })
  requested[0]?.resolve([keyOf(1)])
  const keys = await starting
  const numbers = () => keys.list().map(({ number }) => number)
  await expect.poll(() => seconds).toBe(3)
  expect(requested).toHaveLength(2)
  requested[1]?.resolve([keyOf(1), keyOf(2)])
  await expect.poll(() => requested).toHaveLength(3)
  expect(numbers()).toEqual([1, 2])
  requested[2]?.reject(new Error('the database is away'))
  await expect.poll(() => requested).toHaveLength(4)
  expect(numbers()).toEqual([1, 2])
  requested[3]?.resolve([keyOf(2)])
  await expect.poll(numbers).toEqual([2])
  keys.stop()
  stop()
})
