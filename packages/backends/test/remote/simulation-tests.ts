// The invariants of the simulation, for every kind of provider.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { createFakeFal } from './fakes/fal.ts'
import type { createFakeReplicate } from './fakes/replicate.ts'
import { kindCases } from './kinds.ts'
import { simulate, type SimulatedJob } from './simulation.ts'

/** The states of everything that the provider accepted and can still name; empty where the fake keeps none. */
function statesThere({ fake }: SimulatedJob): string[] {
  if ('predictions' in fake)
    return (fake as ReturnType<typeof createFakeReplicate>).predictions.map(({ status }) => status)
  if ('queue' in fake) return (fake as ReturnType<typeof createFakeFal>).queue.map(({ status }) => status)
  return []
}

/** Declares a test for each kind. */
export function simulationTests(first: number, seeds: number): void {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-simulation-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  test.each(kindCases.map((one) => [one.title, one] as const))('%s', async (title, one) => {
    const statuses = new Map<string, number>()
    let crashes = 0
    for (let seed = first; seed < first + seeds; seed++) {
      const job = await simulate(one, seed, folder)
      crashes += job.crashes
      statuses.set(job.status, (statuses.get(job.status) ?? 0) + 1)
      const where = `seed ${seed}: ${job.status} ${job.error ?? ''}`
      const isPaid = ['replicate', 'fal', 'openai', 'ai-sdk'].includes(one.kind)
      if (isPaid) expect(job.accepted, `${where}: paid twice`).toBeLessThanOrEqual(1)
      const verdicts = [...job.records.values()].map(({ verdict }) => verdict)
      if (job.status === 'succeeded') {
        const succeeded = verdicts.filter((verdict) => verdict === 'succeeded').length
        expect(isPaid ? succeeded : Math.min(succeeded, 1), where).toBe(1)
        expect(
          verdicts.some((verdict) => verdict === 'submitting' || verdict === 'accepted'),
          where,
        ).toBe(false)
      }
      // What was accepted is delivered, ended there, or under review; only where nobody can tell may a canceled job leave it.
      if (job.status === 'failed' || job.status === 'canceled') {
        const running = statesThere(job).filter(
          (state) => !['succeeded', 'failed', 'canceled', 'aborted', 'COMPLETED', 'CANCELED'].includes(state),
        )
        const canTell = one.lost !== 'review'
        if (canTell) expect(running, `${where}: left running`).toEqual([])
        if (job.status === 'failed') expect(verdicts.includes('accepted'), `${where}: failed but accepted`).toBe(false)
      }
      if (one.lost !== 'review' && one.kind !== 'openai' && one.kind !== 'replicate')
        expect(job.status, `${where}: nothing to review`).not.toBe('needs_review')
    }
    expect(crashes, `${title} never crashed`).toBeGreaterThan(seeds / 4)
    expect(statuses.get('succeeded') ?? 0, JSON.stringify([...statuses])).toBeGreaterThan(seeds / 10)
  })
}
