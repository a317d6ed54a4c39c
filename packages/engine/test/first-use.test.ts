// What is made at its first use is kept, unless it failed.
import { expect, test } from 'vitest'
import { findOrMake, onFirstUse } from '../src/first-use.ts'

/** Fails at the first call; the second and later ones are answered with how many there were. */
function createFlaky(): () => Promise<number> {
  let calls = 0
  return async () => {
    calls += 1
    if (calls === 1) throw new Error('EMFILE')
    return calls
  }
}

test('a first use that fails is forgotten; all that wait for it hear of it, and the next use tries again', async () => {
  const use = onFirstUse(createFlaky())
  const first = await Promise.allSettled([use(), use()])
  expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await Promise.all([use(), use()])).toEqual([2, 2])
  expect(await use()).toBe(2)
})

test('each key is made once', async () => {
  const kept = new Map<string, Promise<number>>()
  const make = createFlaky()
  await expect(findOrMake(kept, 'a', make)).rejects.toThrow('EMFILE')
  expect([await findOrMake(kept, 'a', make), await findOrMake(kept, 'b', make)]).toEqual([2, 3])
  expect(await findOrMake(kept, 'a', make)).toBe(2)
})
