// Some random histories, the same in each run. Thousands of others: simulation.long.test.ts.
import { expect, test } from 'vitest'
import { seed } from '../seed.ts'
import { isPostgres } from '../test-store.ts'
import { simulate, simulateMany } from './simulation.ts'

const count = isPostgres ? 15 : 60

test(`nothing is lost, doubled, stuck or silently charged in ${count} histories`, async () => {
  const ends = await simulateMany(seed, count)
  for (const status of ['succeeded', 'failed', 'canceled', 'expired']) expect(ends[status], status).toBeGreaterThan(0)
})

test('a seed is a history: the same again', async () => {
  expect(await simulate(7)).toEqual(await simulate(7))
})
