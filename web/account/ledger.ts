// The ledger entries and the jobs that the page of credits has read so far: back to a month that is looked at.
import type { Api } from '../api.ts'
import type { EntryRecord, JobRecord, ListRecord } from '../records.ts'

const largestPage = 500
// One look back reads no more pages of each.
const mostPages = 8

/** What has been read so far, newest first. */
export interface Ledger {
  readonly entries: readonly EntryRecord[]
  /** By id; those that were deleted, and those that the key may not see, are missing. */
  readonly jobs: ReadonlyMap<string, JobRecord>
  /** Whether there are older entries. */
  readonly hasMore: boolean
  /** Reads back to a day; `hasMore` says whether it is far. @throws Refused, Unreachable */
  readBackTo(day: string): Promise<void>
}

export function createLedger(api: Api, signal: AbortSignal): Ledger {
  const entries = new Map<string, EntryRecord>()
  const jobs = new Map<string, JobRecord>()
  const reads = { entries: startOf(), jobs: startOf() }

  /** Reads pages of a list until one reaches back to a time; answers with their items. */
  async function read(path: string, at: ReturnType<typeof startOf>, since: string): Promise<unknown[]> {
    const found: unknown[] = []
    for (let pages = 0; at.hasMore && at.oldest >= since && pages < mostPages; pages += 1) {
      const query = `limit=${largestPage}&offset=${at.offset}`
      const page = await api.get<ListRecord<{ created_at: string }>>(`${path}?${query}`, { signal })
      at.offset += page.data.length
      at.hasMore = page.has_more && page.data.length > 0
      at.oldest = page.data.at(-1)?.created_at ?? at.oldest
      found.push(...page.data)
    }
    return found
  }
  return {
    get entries() {
      return [...entries.values()]
    },
    jobs,
    get hasMore() {
      return reads.entries.hasMore
    },
    async readBackTo(day) {
      await Promise.all([
        read('/v1/wallet/entries', reads.entries, day).then((found) => {
          // One that moved to another page because of newer ones is not counted twice.
          for (const entry of found as EntryRecord[]) entries.set(entry.entry_id, entry)
        }),
        // Without their names lines are less, which is no reason for none.
        read('/v1/jobs', reads.jobs, day).then(
          (found) => {
            for (const job of found as JobRecord[]) jobs.set(job.job_id, job)
          },
          // Without their names lines say less, but they are there.
          () => (reads.jobs.hasMore = false),
        ),
      ])
    },
  }
}

function startOf(): { offset: number; hasMore: boolean; oldest: string } {
  return { offset: 0, hasMore: true, oldest: '9999' }
}

/** Every entry there is. @throws Refused, Unreachable */
export async function readAllEntries(api: Api, signal: AbortSignal): Promise<EntryRecord[]> {
  const all: EntryRecord[] = []
  for (;;) {
    const query = `limit=${largestPage}&offset=${all.length}`
    const { data, has_more } = await api.get<ListRecord<EntryRecord>>(`/v1/wallet/entries?${query}`, { signal })
    all.push(...data)
    if (!has_more || data.length === 0) return all
  }
}
