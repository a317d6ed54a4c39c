// Removes expired files, and orphans: folders without a record that a crash left.
import type { Logger } from 'pino'
import {
  type FilesFolders,
  foldersAtOnce,
  removeExpired,
  type RetentionStore,
  type StuckFolder,
  surveyFolders,
} from '@mediagen/core/retention.ts'
import { leadMs } from '@mediagen/core/leader.ts'
import type { Store } from '@mediagen/core/store.ts'
import { createRound } from '../runtime/round.ts'

const lookMs = 1000
// Orphans are rare, and finding them visits every folder.
const surveyMs = 6 * 3_600_000

/** What the removal needs. */
export interface ExpiryParts {
  readonly store: RetentionStore & Pick<Store, 'lead'>
  readonly folders: FilesFolders
  /** Retention of files, and of orphans, because the database may be an older one that was restored. */
  readonly retainMs: number
  readonly log: Logger
}

/** Runs until it is stopped. */
export interface Expiry {
  stop(): Promise<void>
}

/** Starts removing files: expired files every second, orphans now and every six hours. */
export function startExpiry({ store, folders, retainMs, log }: ExpiryParts): Expiry {
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

  const sweeping = createRound(sweep, (error) => log.error({ err: error }, 'expired files could not be removed'))
  const surveying = createRound(survey, (error) => log.error({ err: error }, 'files could not be listed'))
  const timers = [setInterval(() => sweeping.again(), lookMs), setInterval(() => surveying.again(), surveyMs)]
  sweeping.again()
  surveying.again()
  return {
    async stop() {
      stopped = true
      for (const timer of timers) clearInterval(timer)
      await Promise.all([sweeping.settled(), surveying.settled()])
    },
  }
}
