// What the usage of an account must be, by its jobs and its ledger (P293, P294).
import { expect } from 'vitest'
import { calendarOf } from '../../src/core/calendar.ts'
import { labelOf, type UsageGroup, type UsageRequest, type UsageSum } from '../../src/core/credits/usage.ts'
import type { Job } from '../../src/core/jobs/job.ts'
import type { StartCommand, Store } from '../../src/core/store.ts'
import { filterOf } from './fixture.ts'

/** A request for a hundred rows of all days. */
export function usageOf(accountId: string | null, groups: readonly UsageGroup[], fields: Partial<UsageRequest> = {}) {
  return { accountId, groups, from: '2026-01-01', to: '9999-12-31', limit: 100, offset: 0, ...fields }
}

const zones = ['Pacific/Pago_Pago', 'Pacific/Kiritimati']

/** A key, labels and a time zone for a start; the zone is a label, by which `expectUsage` finds the day. There are always two days. */
export function variedStart(n: number): Pick<StartCommand, 'keyId' | 'labels' | 'timeZone'> {
  const zone = zones[n % 2] ?? ''
  const team = ['ads', 'art', undefined][n % 3]
  return { keyId: `key_${n % 5}`, labels: { zone, ...(team !== undefined && { team }) }, timeZone: zone }
}

const all: UsageGroup[] = ['day', 'model', 'key', 'label:team', 'label:zone']
const groupings: UsageGroup[][] = [...all.map((group) => [group]), ['label:team', 'day'], all]

/** Expects that each sum of the usage is that of the account's jobs, and that of its ledger; at most 500 jobs, started as above. */
export async function expectUsage(store: Store, accountId: string): Promise<void> {
  const { items: jobs, total } = await store.listJobs(filterOf(accountId, { limit: 500 }))
  expect(total).toBe(jobs.length)
  const ended = jobs.filter(({ status }) => !['queued', 'running', 'needs_review'].includes(status))
  for (const groups of groupings) {
    const { items, sum } = await store.listUsage(usageOf(accountId, groups, { limit: 500 }))
    const expected = new Map<string, UsageSum>()
    for (const job of ended) {
      const name = JSON.stringify(groups.map((group) => valueOf(job, group)))
      const { jobs: count, succeeded, charged } = expected.get(name) ?? { jobs: 0, succeeded: 0, charged: 0 }
      expected.set(name, {
        jobs: count + 1,
        succeeded: succeeded + (job.status === 'succeeded' ? 1 : 0),
        charged: charged + job.creditsCharged,
      })
    }
    const found = items.map(({ jobs, succeeded, charged, ...row }) => {
      const values = groups.map((group) => {
        const label = labelOf(group)
        if (label !== null) return row.labels[label] ?? null
        return group === 'day' ? row.day : group === 'key' ? row.keyId : row.model
      })
      return [JSON.stringify(values), { jobs, succeeded, charged }] as const
    })
    expect(new Map(found), groups.join()).toEqual(expected)
    expect(sum.charged).toBe(await readCharges(store, accountId))
  }
}

function valueOf(job: Job, group: UsageGroup): string | null {
  const label = labelOf(group)
  if (label !== null) return job.labels[label] ?? null
  if (group === 'day') return calendarOf(job.labels['zone'] ?? 'UTC').dayOf(job.createdAtMs)
  return group === 'key' ? job.keyId : job.model
}

/** All that the ledger says was charged. */
async function readCharges(store: Store, accountId: string): Promise<number> {
  let charged = 0
  for (let offset = 0; ; offset += 500) {
    const { items, total } = await store.listEntries(accountId, { limit: 500, offset })
    for (const { kind, credits } of items) if (kind === 'charge') charged += credits
    if (offset + 500 >= total) return charged
  }
}
