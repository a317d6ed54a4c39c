// Some hundred random histories of a paid backend. Thousands of others: paid.long.test.ts.
import { expect, test } from 'vitest'
import { seed } from '../seed.ts'
import { simulateManyPaid, simulatePaid } from './paid.ts'

const count = 100

test(`nothing is paid twice on a guess, lost, or charged for nothing in ${count} histories`, async () => {
  const counts = await simulateManyPaid(seed, count)
  for (const [what, times] of Object.entries(counts)) expect(times, what).toBeGreaterThan(0)
})

test('a seed is a history of a paid backend: the same again', async () => {
  expect(await simulatePaid(7)).toEqual(await simulatePaid(7))
})
