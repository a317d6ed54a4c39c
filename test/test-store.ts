// Which store tests run on: in the projects of PostgreSQL, each data directory and each store has a database there.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import type { Clock } from '../src/core/clock.ts'
import { openPostgresStore } from '../src/storage/postgres/open.ts'
import { openSqliteStore } from '../src/storage/sqlite/open.ts'
import { ownThreads } from '../src/storage/sqlite/threads/threads.ts'
import type { OpenTestStore, TestStore } from './storage/fixture.ts'
import { connectPostgres, hasPostgres, runSql, startPostgres } from './storage/postgres-server.ts'
import { makeDatabase, openRaw, openTemporaryStore, threads } from './storage/sqlite-fixture.ts'

export { threads }

/** Whether tests run on PostgreSQL. */
export const isPostgres = process.env['MEDIAGEN_TEST_STORE'] === 'postgres'
/** The database of a data directory, so that a server which is started again finds what it left. */
const databases = new Map<string, Promise<string>>()

/** The run's server, and the database that others are copies of. */
export function testDatabases() {
  const [server = '', template] = (process.env['MEDIAGEN_TEST_POSTGRES_TEMPLATE'] ?? '').split(' ')
  const { createDatabase, dropDatabase } = connectPostgres(server)
  return { createDatabase: () => createDatabase(template), dropDatabase }
}

function databaseOf(dataDir: string): Promise<string> {
  let database = databases.get(dataDir)
  if (database === undefined) databases.set(dataDir, (database = testDatabases().createDatabase()))
  return database
}

/** The settings of a server or a command on a data directory. */
export async function storeSettings(dataDir: string): Promise<Readonly<Record<string, string>>> {
  if (!isPostgres) return {}
  return { MEDIAGEN_DATABASE_URL: await databaseOf(dataDir), MEDIAGEN_DATABASE_CONNECTIONS: '4' }
}

/** Makes a data directory with an empty database, where the database is in it. */
export async function createDataDir(dataDir: string): Promise<void> {
  if (isPostgres) return
  mkdirSync(dataDir)
  await makeDatabase(join(dataDir, 'mediagen.db'))
}

/** Opens the store of a data directory, beside the servers that use it. */
export async function openStoreOf(dataDir: string, clock?: Clock): Promise<TestStore> {
  const options = { ...(clock && { clock }) }
  return isPostgres
    ? openPostgresStore({ ...options, url: await databaseOf(dataDir) })
    : openSqliteStore({ ...options, path: join(dataDir, 'mediagen.db'), threads })
}

/** What the database of a data directory keeps, as text; nothing when that is a file in the directory. */
export async function readDatabase(dataDir: string): Promise<string> {
  if (!isPostgres) return ''
  const url = await databaseOf(dataDir)
  const tables = await runSql(
    url,
    "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'",
  )
  const rows = await Promise.all(tables.map(({ relname }) => runSql(url, `SELECT t::text AS row FROM ${relname} AS t`)))
  return rows.flatMap((found) => found.map(({ row }) => String(row))).join('\n')
}

/** Runs SQL on the store of a data directory, every rule of which is switched off first. No server may use it. */
export async function tamper(dataDir: string, sql: string): Promise<void> {
  if (isPostgres) {
    await runSql(await databaseOf(dataDir), `SET session_replication_role = replica; ${dropChecks}; ${sql}`)
    return
  }
  using db = openRaw(join(dataDir, 'mediagen.db'))
  db.pragma('foreign_keys = OFF')
  db.pragma('ignore_check_constraints = ON')
  const triggers = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all()
  for (const name of triggers) db.exec(`DROP TRIGGER ${name}`)
  db.exec(sql)
}

// Without triggers, PostgreSQL has no foreign keys either.
const dropChecks = `DO $$ DECLARE c record; BEGIN
  FOR c IN SELECT conrelid::regclass AS checked, conname FROM pg_constraint WHERE contype = 'c' AND conrelid <> 0
  LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.checked, c.conname); END LOOP;
END $$`

/** Makes each change of the store of a data directory wait until `release` is called, as a disk that stands still does. */
export async function holdStore(dataDir: string): Promise<AsyncDisposable & { release(): Promise<void> }> {
  const { lock, end } = isPostgres
    ? await lockDatabase(await databaseOf(dataDir))
    : lockFile(join(dataDir, 'mediagen.db'))
  await lock()
  let released: Promise<void> | null = null
  const release = (): Promise<void> => (released ??= end())
  return { release, [Symbol.asyncDispose]: release }
}

function lockFile(path: string) {
  const other = openRaw(path)
  return { lock: async () => void other.exec('BEGIN IMMEDIATE'), end: async () => void other.close() }
}

async function lockDatabase(url: string) {
  const other = new Client(url)
  await other.connect()
  // Each transaction marks a row there before it commits.
  return { lock: () => other.query('BEGIN; LOCK TABLE commits IN EXCLUSIVE MODE'), end: () => other.end() }
}

/** Opens a store of its own. */
export const openTestStore: OpenTestStore = (clock) =>
  isPostgres ? openTestDatabase(clock) : openTemporaryStore(clock)

/** Opens a store of its own that works in threads of its own, at the same moment as another on its data. */
export const openThreadedStore: OpenTestStore = (clock) =>
  isPostgres ? openTestDatabase(clock) : openTemporaryStore(clock, ownThreads)

/** Opens a store on a database of its own, whichever store tests run on. Only in a run with PostgreSQL. */
async function openTestDatabase(clock?: Clock): ReturnType<OpenTestStore> {
  const { createDatabase, dropDatabase } = testDatabases()
  const url = await createDatabase()
  const options = { url, ...(clock && { clock }) }
  const store = await openPostgresStore(options)
  return {
    ...store,
    another: (name) => openPostgresStore({ ...options, ...(name !== undefined && { name }) }),
    async [Symbol.asyncDispose]() {
      await store.close()
      await dropDatabase(url)
    },
  }
}

/** Starts one server for a whole run of tests, which its processes learn of by the environment. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  // Another project has started it.
  if (process.env['MEDIAGEN_TEST_POSTGRES_TEMPLATE'] !== undefined) return undefined
  if (!hasPostgres) throw new Error('there is no PostgreSQL to test with')
  const server = await startPostgres()
  const template = await server.createDatabase()
  await (await openPostgresStore({ url: template, migrates: true })).close()
  process.env['MEDIAGEN_TEST_POSTGRES_TEMPLATE'] = `${server.url} ${template}`
  return async () => server[Symbol.asyncDispose]()
}
