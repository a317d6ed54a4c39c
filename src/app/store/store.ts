// The store of an installation: PostgreSQL where the settings name a database, else SQLite in the data directory.
import { existsSync } from 'node:fs'
import type { Config } from '../../config.ts'
import type { Clock } from '../../core/clock.ts'
import { StartupError } from '../../core/errors.ts'
import type { Store } from '../../core/store.ts'
import type { PostgresOptions } from '../../storage/postgres/open.ts'
import { openSqliteStore, type SqliteOptions } from '../../storage/sqlite/open.ts'
import { layOut, makeFolder, protectDatabase } from './data-dir.ts'

/** What says where the store is. */
export type StoreLocation = Pick<Config, 'dataDir'> &
  Partial<Pick<Config, 'databaseUrl' | 'databaseListenUrl' | 'databaseConnections'>> & {
    /** Whether the caller is the one that restores a backup there. */
    readonly restores?: boolean
  }

/** How it is opened. */
export interface StoreOptions extends Pick<
  SqliteOptions,
  'name' | 'maxQueueMs' | 'maxQueuedWrites' | 'maxQueuedReads' | 'threads'
> {
  /** The clock of commands, for tests. Default: that of the system, or of the server of PostgreSQL. */
  readonly clock?: Clock | undefined
  /** Whether to bring a PostgreSQL database to the current schema; that of SQLite always is. */
  readonly migrates?: boolean
}

/**
 * Opens the store, making the data directory when there is none.
 * @throws StartupError when the database cannot be used; it is left as it was
 */
export async function openStore(
  location: StoreLocation,
  { clock, ...options }: StoreOptions = {},
): Promise<Store & AsyncDisposable> {
  const { dataDir } = location
  const given = { ...options, ...(clock && { clock }) }
  if (location.databaseUrl) {
    const store = await openPostgres(location, location.databaseUrl, given)
    try {
      makeFolder(dataDir)
    } catch (error) {
      await store.close()
      throw error
    }
    return store
  }
  refuseRestoring(dataDir)
  makeFolder(dataDir)
  protectDatabase(layOut(dataDir).database)
  return openSqliteStore({ path: layOut(dataDir).database, ...given, migrates: true })
}

/**
 * Opens the store of an installation that has one, for one command; nothing is created or migrated.
 * @throws StartupError when there is none, or its schema is not that of this program
 */
export async function openExistingStore(location: StoreLocation): Promise<Store & AsyncDisposable> {
  if (location.databaseUrl)
    return openPostgres(location, location.databaseUrl, { listens: false, restores: location.restores ?? false })
  refuseRestoring(location.dataDir)
  const { noThreads } = await import('../../storage/sqlite/threads/no-threads.ts')
  return openSqliteStore({ path: layOut(location.dataDir).database, migrates: false, threads: noThreads })
}

function refuseRestoring(dataDir: string): void {
  if (existsSync(layOut(dataDir).restoring))
    throw new StartupError(
      `The data directory ${dataDir} is being restored from a backup, or that was cut short, and jobs that cost money would run again: run \`mediagen restore\` to its end.`,
    )
}

/** The driver is loaded where it is used. */
async function openPostgres(
  { databaseListenUrl, databaseConnections }: StoreLocation,
  url: string,
  options: Omit<PostgresOptions, 'url'>,
): Promise<Store & AsyncDisposable> {
  const { openPostgresStore } = await import('../../storage/postgres/open.ts')
  return openPostgresStore({
    ...options,
    url,
    ...(databaseConnections !== undefined && { connections: databaseConnections }),
    ...(databaseListenUrl && { listenUrl: databaseListenUrl }),
  })
}

/** The database, as an operator may read it. */
export async function describeDatabase({ databaseUrl, dataDir }: StoreLocation): Promise<string> {
  if (!databaseUrl) return layOut(dataDir).database
  const { describeUrl } = await import('../../storage/postgres/migrate.ts')
  return describeUrl(databaseUrl)
}
