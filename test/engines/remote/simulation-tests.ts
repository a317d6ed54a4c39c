// The invariants of the simulation, for every kind of provider.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { kindCases } from './kinds.ts'
import { simulate, type SimulatedJob } from './simulation.ts'

/** Everything that the provider accepted and can still name, by its id; empty where the fake keeps none. */
function statesThere({ fake }: SimulatedJob): (readonly [id: string, state: string])[] {
  const { predictions, queue, entries, jobs, videos } = fake as Partial<
    Record<'predictions' | 'queue' | 'entries', readonly { readonly id: string; readonly status: string }[]> &
      Record<'jobs' | 'videos', ReadonlyMap<string, { readonly status: string }>>
  >
  return [
    ...[predictions, queue, entries].flatMap((list = []) => list.map(({ id, status }) => [id, status] as const)),
    ...[jobs, videos].flatMap((map = new Map()) => [...map].map(([id, { status }]) => [id, status] as const)),
  ]
}

const ended: ReadonlySet<string> = new Set([
  'succeeded',
  'failed',
  'canceled',
  'cancelled',
  'aborted',
  'completed',
  'COMPLETED',
  'CANCELED',
])

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
      if (isPaid && job.error?.startsWith('provider_refused'))
        expect(job.accepted, `${where}: accepted all the same`).toBe(0)
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
        const canTell = one.lost === 'found'
        const known = new Set([...job.records.values()].map(({ upstreamId }) => upstreamId))
        const running = statesThere(job).filter(([id, state]) => !ended.has(state) && (canTell || known.has(id)))
        expect(running, `${where}: left running`).toEqual([])
        if (job.status === 'failed') expect(verdicts.includes('accepted'), `${where}: failed but accepted`).toBe(false)
      }
      if (one.lost !== 'review' && one.kind !== 'openai' && one.kind !== 'replicate')
        expect(job.status, `${where}: nothing to review`).not.toBe('needs_review')
    }
    expect(crashes, `${title} never crashed`).toBeGreaterThan(seeds / 4)
    expect(statuses.get('succeeded') ?? 0, JSON.stringify([...statuses])).toBeGreaterThan(seeds / 10)
  })
}
