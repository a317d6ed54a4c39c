// Thousands of random histories, every rule of money and of states checked after each step.
// A failure names its seed; MEDIAGEN_SIM_SEED=<seed> runs that one again, MEDIAGEN_SIM_SEEDS=<count> runs more.
import { expect, test } from 'vitest'
import { simulate } from './simulation.ts'

const one = process.env['MEDIAGEN_SIM_SEED']
const count = Number(process.env['MEDIAGEN_SIM_SEEDS'] ?? 2000)
// Another part of all seeds each day, the same within a day.
const first = one === undefined ? (Math.floor(Date.now() / 86_400_000) * 100_000) % 2 ** 31 : Number(one)
const seeds = one === undefined ? count : 1

test(
  `nothing is lost, doubled, stuck or silently charged: ${seeds} histories from seed ${first}`,
  { timeout: 3_600_000 },
  async () => {
    const ends: Record<string, number> = {}
    for (let seed = first; seed < first + seeds; seed++) {
      const history = await simulate(seed).catch((cause: unknown) => {
        throw new Error(`MEDIAGEN_SIM_SEED=${seed}: ${(cause as Error).message}`, { cause })
      })
      for (const [status, jobs] of Object.entries(history.ends)) ends[status] = (ends[status] ?? 0) + jobs
    }
    // A simulation in which something never happens proves nothing about it.
    if (seeds >= 100)
      for (const status of ['succeeded', 'failed', 'canceled', 'expired'])
        expect(ends[status]).toBeGreaterThan(seeds / 10)
  },
)

test('a seed is a history: the same again', async () => {
  expect(await simulate(7)).toEqual(await simulate(7))
})
