// Which store the servers of tests use: MEDIAGEN_TEST_STORE=postgres gives each data directory a database of PostgreSQL.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openPostgresStore } from '@mediagen/storage/postgres/open.ts'
import { connectPostgres, hasPostgres, startPostgres } from './storage/postgres-server.ts'

/** Whether servers of tests are over PostgreSQL. */
export const isPostgres = process.env['MEDIAGEN_TEST_STORE'] === 'postgres'
/** The database of a data directory, so that a server which is started again finds what it left. */
const databases = new Map<string, Promise<string>>()

/** The settings of a server on a data directory. */
export async function storeSettings(dataDir: string): Promise<Readonly<Record<string, string>>> {
  // What the command line has begun in SQLite goes on there.
  if (!isPostgres || existsSync(join(dataDir, 'mediagen.db'))) return {}
  const [server = '', template] = (process.env['MEDIAGEN_TEST_POSTGRES_TEMPLATE'] ?? '').split(' ')
  let database = databases.get(dataDir)
  if (database === undefined) databases.set(dataDir, (database = connectPostgres(server).createDatabase(template)))
  return { MEDIAGEN_DATABASE_URL: await database, MEDIAGEN_DATABASE_CONNECTIONS: '4' }
}

/** Starts one server for a whole run of tests, which its processes learn of by the environment. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (!isPostgres) return undefined
  if (!hasPostgres) throw new Error('there is no PostgreSQL for MEDIAGEN_TEST_STORE=postgres')
  const server = await startPostgres()
  const template = await server.createDatabase()
  await (await openPostgresStore({ url: template, migrates: true })).close()
  process.env['MEDIAGEN_TEST_POSTGRES_TEMPLATE'] = `${server.url} ${template}`
  return async () => server[Symbol.asyncDispose]()
}
