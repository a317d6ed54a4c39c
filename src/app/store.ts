// The store of a data directory.
import { type Clock, systemClock } from '@mediagen/core/clock.ts'
import type { Store } from '@mediagen/core/store.ts'
import { openSqliteStore, type SqliteOptions } from '@mediagen/storage/sqlite/open.ts'
import { layOut, makeFolder, protectDatabase } from './data-dir.ts'

/** Opens the store of a data directory, making the directory when there is none. */
export async function openStore(
  dataDir: string,
  clock: Clock = systemClock,
  options: Pick<SqliteOptions, 'name' | 'maxQueueMs' | 'maxQueuedWrites' | 'maxQueuedReads'> = {},
): Promise<Store & AsyncDisposable> {
  makeFolder(dataDir)
  protectDatabase(layOut(dataDir).database)
  return openSqliteStore({ path: layOut(dataDir).database, clock, ...options })
}

/**
 * Opens the store of a data directory that has one; nothing is created or migrated.
 * @throws StartupError when there is none, or its schema is not that of this program
 */
export function openExistingStore(dataDir: string): Promise<Store & AsyncDisposable> {
  return openSqliteStore({ path: layOut(dataDir).database, migrates: false })
}

/** Why the store takes no changes, in words; null when it does. */
export async function describeTrouble(store: Store): Promise<string | null> {
  try {
    await store.check()
    return null
  } catch (error) {
    return `the database cannot be written: ${(error as Error).message}`
  }
}
