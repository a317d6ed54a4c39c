// Thousands of random histories of a paid backend.
// A failure names its seed; MEDIAGEN_TEST_SEED=<seed> begins with that one, MEDIAGEN_TEST_HISTORIES=<count> runs as many.
import { expect, test } from 'vitest'
import { seed } from '../seed.ts'
import { simulateManyPaid } from './paid.ts'

const count = Number(process.env['MEDIAGEN_TEST_HISTORIES'] ?? 3000)

// What is rare may not happen in few histories.
const leastCount = 500

test(`nothing is paid twice on a guess, lost, or charged for nothing: ${count} histories from seed ${seed}`, async () => {
  const counts = await simulateManyPaid(seed, count)
  expect(counts.accepted).toBeGreaterThan(count / 50)
  if (count >= leastCount)
    for (const [what, times] of Object.entries(counts)) expect(times, what).toBeGreaterThan(count / 50)
})
