// What the tests of the SQLite store share: files in a temporary folder, and a raw connection past the store.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { systemClock, type Clock } from '../../src/core/clock.ts'
import { openSqliteStore, type SqliteOptions } from '../../src/storage/sqlite/open.ts'
import { noThreads } from '../../src/storage/sqlite/threads/no-threads.ts'
import type { Threads } from '../../src/storage/sqlite/threads/threads.ts'
import type { OpenTestStore, TestStore } from './fixture.ts'

// Starting a thread and loading its modules takes three times as long as the rest of a server.
/** Where the stores of tests work unless the thread is what they test: in this one. */
export const threads = noThreads

/** A folder that goes away with the test, and the path of a database in it that does not exist yet. */
export function createTestFolder(): { folder: string; path: string } & Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-store-'))
  return {
    folder,
    path: join(folder, 'test.db'),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

let template: Promise<Buffer> | null = null

/** Makes a database as a new store does: a copy, since each migration takes longer than most tests. */
export async function makeDatabase(path: string): Promise<void> {
  writeFileSync(path, await (template ??= makeTemplate()), { mode: 0o600 })
}

async function makeTemplate(): Promise<Buffer> {
  using file = createTestFolder()
  await (await openSqliteStore({ path: file.path, threads: noThreads })).close()
  return readFileSync(file.path)
}

/** Opens a store at a path, where it makes the database that is not there yet. */
export async function openStoreAt(path: string, options: Omit<SqliteOptions, 'path'> = {}): Promise<TestStore> {
  if (!existsSync(path)) await makeDatabase(path)
  return openSqliteStore({ threads, ...options, path })
}

/** A store on a file of its own. */
export async function openTemporaryStore(
  clock: Clock = systemClock,
  where: Threads = threads,
): ReturnType<OpenTestStore> {
  const { path, ...folder } = createTestFolder()
  const options = { clock, threads: where }
  const store = await openStoreAt(path, options)
  return {
    ...store,
    another: (name) => openStoreAt(path, { ...options, ...(name !== undefined && { name }) }),
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
