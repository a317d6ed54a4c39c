// What the tests of the SQLite store share: files in a temporary folder, and a raw connection past the store.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { systemClock, type Clock } from '@mediagen/core/clock.ts'
import { noThreads } from '@mediagen/storage/sqlite/no-threads.ts'
import { openSqliteStore } from '@mediagen/storage/sqlite/open.ts'
import { ownThreads } from '@mediagen/storage/sqlite/threads.ts'
import type { OpenTestStore } from './fixture.ts'

// Starting a thread and loading its modules takes three times as long as the rest of a server.
/** Where the stores of tests work: in this thread, but in the long tests, which load and break them, in threads of their own. */
export const threads = process.env['MEDIAGEN_TEST_LONG'] === undefined ? noThreads : ownThreads

/** A folder that goes away with the test, and the path of a database in it that does not exist yet. */
export function createTestFolder(): { folder: string; path: string } & Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-store-'))
  return {
    folder,
    path: join(folder, 'test.db'),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

let migrated: Promise<Buffer> | undefined

async function readMigrated(): Promise<Buffer> {
  using file = createTestFolder()
  await (await openSqliteStore({ path: file.path, threads })).close()
  return readFileSync(file.path)
}

/** Writes a database that is empty but for the schema of this program. All are copies of one, which is migrated once. */
export async function createMigrated(path: string): Promise<void> {
  writeFileSync(path, await (migrated ??= readMigrated()), { mode: 0o600 })
}

/** A store on a file of its own. */
export async function openTemporaryStore(clock: Clock = systemClock): ReturnType<OpenTestStore> {
  const { path, ...folder } = createTestFolder()
  await createMigrated(path)
  const store = await openSqliteStore({ path, clock, threads })
  return {
    ...store,
    another: (name) => openSqliteStore({ path, clock, threads, ...(name !== undefined && { name }) }),
    async [Symbol.asyncDispose]() {
      await store.close()
      folder[Symbol.dispose]()
    },
  }
}

/** A connection with nothing but foreign keys switched on, as an operator's shell would have it. */
export function openRaw(path: string): Database.Database & Disposable {
  const db = new Database(path)
  db.pragma('foreign_keys = ON')
  return Object.assign(db, { [Symbol.dispose]: () => void db.close() })
}
