// Thousands of random histories, every rule of money and of states checked after each step.
// A failure names its seed; MEDIAGEN_TEST_SEED=<seed> begins with that one, MEDIAGEN_TEST_HISTORIES=<count> runs as many.
import { expect, test } from 'vitest'
import { seed } from '../seed.ts'
import { simulateMany } from './simulation.ts'

const count = Number(process.env['MEDIAGEN_TEST_HISTORIES'] ?? 2000)

test(`nothing is lost, doubled, stuck or silently charged: ${count} histories from seed ${seed}`, async () => {
  const ends = await simulateMany(seed, count)
  // A simulation in which something never happens proves nothing about it.
  for (const status of ['succeeded', 'failed', 'canceled', 'expired'])
    expect(ends[status], status).toBeGreaterThan(count / 10)
})
