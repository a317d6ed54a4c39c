// Backs up the installation of the settings, or restores it and checks what has come of it: the ledger, the files, and jobs that
// may have cost money since.
import type { Config } from '../../../config.ts'
import { systemClock } from '../../../core/clock.ts'
import { formatBucket } from '../../../files/blobs/s3-address.ts'
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
  // Refused before a folder is made.
  await (await openTables(toLocation(config), false))[Symbol.asyncDispose]()
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
  const free = await listFree(config)
  const files = createBlobs(config)
  const bucket = config.filesUrl && formatBucket(config.filesUrl)
  const { manifest, prepared } = await restore({ folder, to: config, files, bucket }, async (to) => {
    await using store = await openExistingStore(to)
    // The root is compared before the jobs that are held change anything.
    const ledger = await store.verifyLedger()
    const location = { ...toLocation({ databaseUrl: config.databaseUrl, dataDir: to.dataDir }), restores: true }
    return { ...ledger, held: await holdPaid(store, free, () => openTables(location, false), config) }
  })
  const { root, accounts, entries, jobs, problems, held } = prepared
  await using tables = await openTables(toLocation(config), false)
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

/** Models of the catalog whose runs may be repeated; of others nothing is known. */
async function listFree(config: Config): Promise<ReadonlySet<string>> {
  const builtin = await findBuiltin()
  await using idle = await openIdleEngines(builtin, config)
  const shipped = builtin?.catalog ?? []
  const models = readModels([...shipped, ...config.catalog], idle.engines, shipped)
  return new Set(models.filter((model) => !isPaid(model)).map(({ id }) => id))
}
