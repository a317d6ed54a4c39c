// Removes expired files, orphans (folders without a record that a crash left), and the records of jobs that ended long ago.
import type { Logger } from 'pino'
import { everySecond } from '../core/every-second.ts'
import { leadMs } from '../core/jobs/leader.ts'
import {
  type FilesFolders,
  foldersAtOnce,
  removeExpired,
  type RetentionStore,
  type StuckFolder,
  surveyFolders,
} from '../core/jobs/retention.ts'
import { createRound } from '../core/round.ts'
import type { Store } from '../core/store.ts'

// Orphans are rare, and finding them visits every folder.
const surveyMs = 6 * 3_600_000
const forgetMs = 3_600_000
// One page is one transaction, and starts wait for it.
const jobsAtOnce = 200

export interface ExpiryDeps {
  readonly store: RetentionStore & Pick<Store, 'lead'>
  readonly folders: FilesFolders
  /** Retention of files, and of orphans, because the database may be an older one that was restored. */
  readonly retainMs: number
  /** How long records of ended jobs are kept; null for ever. */
  readonly keepJobsMs: number | null
  readonly log: Logger
}

/** Runs until it is stopped. */
export interface Expiry {
  stop(): Promise<void>
}

/** Starts removing: expired files every second, old jobs now and every hour, orphans now and every six hours. */
export function startExpiry({ store, folders, retainMs, keepJobsMs, log }: ExpiryDeps): Expiry {
  let stopped = false

  /** Writes one line for all of them. */
  function logStuck(stuck: readonly StuckFolder[], what: string): void {
    const [first] = stuck
    if (first) log.error({ err: first.error, folder: first.folder, folders: stuck.length }, what)
  }

  async function sweep(): Promise<void> {
    if (stopped || !(await store.hasExpired()) || !(await store.lead(leadMs))) return
    const { folders: removed, stuck } = await removeExpired(store, folders, foldersAtOnce)
    logStuck(stuck, 'expired files could not be removed; that is tried again later')
    if (removed > 0) log.info({ folders: removed }, 'expired files removed')
    if (removed + stuck.length > 0) sweeping.again()
  }

  async function survey(): Promise<void> {
    if (!(await store.lead(leadMs))) return
    let orphans = 0
    const stuck: StuckFolder[] = []
    for await (const { name, owner, untouchedMs } of surveyFolders(folders, store)) {
      if (stopped) return
      if (owner || untouchedMs <= retainMs) continue
      try {
        await folders.remove(name)
        orphans += 1
      } catch (error) {
        stuck.push({ folder: name, error })
      }
    }
    logStuck(stuck, 'folders that no record names could not be removed')
    if (orphans > 0) log.warn({ folders: orphans }, 'files that no record names were removed')
  }

  async function forget(): Promise<void> {
    if (keepJobsMs === null) return
    let removed = 0
    for (let after: number | null = 0; after !== null && (await store.lead(leadMs));) {
      if (stopped) return
      const { jobs, next } = await store.forgetJobs({ keepMs: keepJobsMs, after, limit: jobsAtOnce })
      removed += jobs
      after = next
    }
    if (removed > 0) log.info({ jobs: removed }, 'old jobs removed')
  }

  const sweeping = createRound(sweep, (error) => log.error({ err: error }, 'expired files could not be removed'))
  const surveying = createRound(survey, (error) => log.error({ err: error }, 'files could not be listed'))
  const forgetting = createRound(forget, (error) => log.error({ err: error }, 'old jobs could not be removed'))
  const rounds = [sweeping, surveying, forgetting]
  const stopLooking = everySecond(() => sweeping.again())
  const timers = [setInterval(() => surveying.again(), surveyMs), setInterval(() => forgetting.again(), forgetMs)]
  for (const round of rounds) round.again()
  return {
    async stop() {
      stopped = true
      stopLooking()
      for (const timer of timers) clearInterval(timer)
      await Promise.all(rounds.map((round) => round.settled()))
    },
  }
}
