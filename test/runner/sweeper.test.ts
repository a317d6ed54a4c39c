// The sweeper: one process sweeps, the others only ask whether they lead.
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { nothingSwept } from '../../src/core/jobs/sweep.ts'
import { startSweeper } from '../../src/runner/sweeper.ts'

function startCounted(leads: () => boolean, needed: () => boolean = () => true) {
  const counts = { looked: 0, asked: 0, swept: 0 }
  const store = {
    needsSweep: async () => (counts.looked++, needed()),
    lead: async () => (counts.asked++, leads()),
    sweep: async () => (counts.swept++, { ...nothingSwept, more: counts.swept === 1 }),
  }
  const log = pino({ level: 'silent' })
  return { counts, sweeper: startSweeper({ store, leaseMs: 1, reviewMs: 1, log, random: () => 0 }) }
}

test('who does not lead does not sweep, until it does', async () => {
  let leads = false
  const { counts, sweeper } = startCounted(() => leads)
  await expect.poll(() => counts.asked).toBe(1)
  expect(counts.swept).toBe(0)
  leads = true
  await expect.poll(() => counts.swept).toBeGreaterThanOrEqual(2)
  await sweeper.stop()
})

test('while there is nothing to sweep, no process leads: an idle store is only read', async () => {
  let needed = false
  const { counts, sweeper } = startCounted(
    () => true,
    () => needed,
  )
  await expect.poll(() => counts.looked).toBe(2)
  expect(counts).toMatchObject({ asked: 0, swept: 0 })
  needed = true
  await expect.poll(() => counts.swept).toBeGreaterThanOrEqual(1)
  await sweeper.stop()
})

test('the leader sweeps at once, and again while there is more to do', async () => {
  const { counts, sweeper } = startCounted(() => true)
  await expect.poll(() => counts.swept).toBe(2)
  await sweeper.stop()
})
