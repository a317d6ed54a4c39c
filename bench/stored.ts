// What a store does with few jobs and with many, side by side: starts, first and deep pages of lists.
import type { Store } from '../src/core/store.ts'
import { order } from './accounts.ts'
import { type Row, toRow } from './bench.ts'
import { readOwnCpuSeconds } from './process-cpu.ts'
import { compare, type Side } from './rounds.ts'

const least = 0.9
const pairs = 7
const listsARound = 500
const startsARound = 1000
const startsAtOnce = 50

/** A store, and the account whose jobs are in it. */
export interface StoredJobs {
  readonly store: Pick<Store, 'listJobs' | 'listEntries' | 'startGeneration'>
  readonly accountId: string
}

/** Counts the processor time of a server as well. */
type CountServer = (side: Side) => Side

/** Starts at the store, many at once. */
export async function compareStarts(few: StoredJobs, many: StoredJobs, stored: string, count: CountServer) {
  let started = 0
  const toSide = ({ store, accountId }: StoredJobs): Side => {
    const start = () =>
      store.startGeneration({
        ...order,
        accountId,
        keyId: 'key_bench',
        keyName: null,
        labels: {},
        additions: {},
        trace: null,
        webhookUrl: null,
        timeZone: 'UTC',
        quoteId: `quote_${'0'.repeat(150)}`,
        idempotencyKey: `start-${(started += 1)}`,
        requestDigest: Buffer.alloc(32),
        usagePrice: null,
        credits: 1,
        maxQueuedJobs: Number.MAX_SAFE_INTEGER,
        priority: 0,
        expiresInMs: null,
        retainMs: null,
        maxAttempts: 3,
      })
    return count({
      async fire() {
        for (let started = 0; started < startsARound; started += startsAtOnce) {
          const outcomes = await Promise.all(Array.from({ length: startsAtOnce }, start))
          if (outcomes.some(({ outcome }) => outcome !== 'created')) throw new Error('a start was refused')
        }
        return startsARound
      },
      cpuSeconds: readOwnCpuSeconds,
    })
  }
  return toRow(`starts, ${stored} : few`, least, await compare(toSide(few), toSide(many), pairs))
}

/** First pages against those of few jobs, then pages at `deep` against the first. */
export async function compareLists(
  few: StoredJobs,
  many: StoredJobs,
  stored: string,
  deep: number,
  count: CountServer = (side) => side,
): Promise<readonly Row[]> {
  const jobs = { status: null, model: null, idempotencyKey: null, search: null, withDeleted: false }
  const lists = {
    jobs: ({ store, accountId }: StoredJobs, offset: number) =>
      store.listJobs({ ...jobs, accountId, limit: 20, offset }),
    'ledger entries': ({ store, accountId }: StoredJobs, offset: number) =>
      store.listEntries(accountId, { limit: 20, offset }),
  }
  const rows: Row[] = []
  for (const [what, list] of Object.entries(lists)) {
    const toSide = (place: StoredJobs, offset: number): Side =>
      count({
        async fire() {
          for (let listed = 0; listed < listsARound; listed++) {
            if ((await list(place, offset)).items.length !== 20) throw new Error('the page is not full')
          }
          return listsARound
        },
        cpuSeconds: readOwnCpuSeconds,
      })
    const first = toSide(many, 0)
    rows.push(
      toRow(`list of ${what}, first page, ${stored} : few`, least, await compare(toSide(few, 0), first, pairs)),
      toRow(`list of ${what}, page at ${deep} : first`, least, await compare(first, toSide(many, deep), pairs)),
    )
  }
  return rows
}
