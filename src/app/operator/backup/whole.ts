// Backs up the installation of the settings, or restores it and checks what has come of it: the ledger, the files, and jobs that
// may have cost money since.
import type { Config } from '../../../config.ts'
import { systemClock } from '../../../core/clock.ts'
import { formatBucket } from '../../../files/blobs/s3-address.ts'
import type { TableSource } from '../../../storage/tables.ts'
import { findBuiltin } from '../../builtin.ts'
import { createBlobs } from '../../files.ts'
import { openIdleEngines, readModels } from '../../models.ts'
import { openExistingStore } from '../../store/store.ts'
import { openTables } from '../move.ts'
import { type BackedUp, backUp } from './back-up.ts'
import { checkFiles } from './check-files.ts'
import { holdPaid, isPaid } from './hold-paid.ts'
import { restore } from './restore.ts'

/** Backs up. @throws StartupError when it fails; see `backUp` */
export async function backUpInstallation(folder: string, config: Config, version: string): Promise<BackedUp> {
  return backUp({
    database: toLocation(config),
    files: createBlobs(config),
    bucket: config.filesUrl && formatBucket(config.filesUrl),
    folder,
    version,
    nowMs: () => systemClock.nowMs(),
  })
}

/** What was restored, as a command prints it. */
export interface Restored {
  readonly backup_of: string
  readonly accounts: number
  readonly entries: number
  readonly jobs: number
  /** Jobs that went to review, since they may have cost money elsewhere after the backup. */
  readonly jobs_to_review: number
  readonly files: number
  readonly ledger_root: string
  /** Whether it is that of the backup. */
  readonly ledger_is_same: boolean
  readonly problems: readonly string[]
  readonly isWell: boolean
}

/** Restores a backup. @throws StartupError when it cannot be; see `restore` */
export async function restoreInstallation(folder: string, config: Config): Promise<Restored> {
  const paid = await listPaid(config)
  const files = createBlobs(config)
  const bucket = config.filesUrl && formatBucket(config.filesUrl)
  const manifest = await restore({ folder, to: config, files, bucket })
  const readTables = (): Promise<TableSource> => openTables(toLocation(config), false)
  await using store = await openExistingStore(config)
  // The chain of the ledger is compared before the jobs that are held change their records.
  const { root, accounts, entries, jobs, problems } = await store.verifyLedger()
  const held = await holdPaid(store, paid, readTables, config)
  await using tables = await readTables()
  const { checked, wrong } = await checkFiles(tables, files, { every: 1, reads: false })
  const all = [...problems, ...wrong.map(({ key, owner, problem }) => `file ${key} of ${owner}: ${problem}`)]
  const same = root === manifest.ledger_root
  return {
    backup_of: manifest.created_at,
    accounts,
    entries,
    jobs,
    jobs_to_review: held,
    files: checked,
    ledger_root: root,
    ledger_is_same: same,
    problems: all,
    isWell: same && all.length === 0,
  }
}

/** Where the database of the settings is. */
export function toLocation({ databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>) {
  return databaseUrl === null ? { dataDir } : { url: databaseUrl }
}

/** Models of the catalog whose runs may cost money elsewhere. */
async function listPaid(config: Config): Promise<ReadonlySet<string>> {
  if (config.catalog.length === 0) return new Set()
  await using idle = await openIdleEngines(await findBuiltin(), config)
  return new Set(
    readModels(config.catalog, idle.engines)
      .filter(isPaid)
      .map(({ id }) => id),
  )
}
