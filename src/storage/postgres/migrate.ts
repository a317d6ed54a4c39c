// Migrates a database to the schema of this program: numbered SQL files, forward only, one transaction each, recorded with their SHA-256.
import { Client } from 'pg'
import { StartupError } from '../../core/errors.ts'
import { checkApplied, loadMigrations, madeBeforeFirst, type Migration } from '../migrations.ts'
import { StorageError } from '../storage-error.ts'
import { isRestoring, toClientConfig } from './connection.ts'

const oldestVersion = 150_000
// Signatures of S3 and certificates of servers need a clock that is about right.
const mostApartMs = 60_000
const list = 'SELECT number::int AS number, name, sha256, compatible FROM mediagen_migrations ORDER BY number'

/**
 * Checks the server and the schema.
 * @param migrates whether to bring the schema to that of this program; several processes may do so at once
 * @param exact whether a database with later, compatible migrations is refused
 * @param restores whether the caller is the one that restores into it
 * @throws StartupError when the server cannot be used, or the database belongs to a newer or altered program, or to another one:
 *   it was not changed then; and, unless `migrates`, when it has an older schema or none
 */
export async function prepareDatabase(
  url: string,
  migrates: boolean,
  migrations: readonly Migration[] = loadMigrations(new URL('./migrations/', import.meta.url)),
  exact = false,
  restores = false,
): Promise<void> {
  const name = describeUrl(url)
  const client = new Client({
    ...toClientConfig(url),
    // Another name than that of servers, which may not be at work for every migration.
    application_name: 'mediagen migrate',
    // A migration takes as long as it takes.
    ...(migrates && { query_timeout: 0 }),
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await checkServer(client, name)
    if (!restores) await refuseRestoring(client, name)
    let applied = await readApplied(client, name, migrations, exact)
    if (applied < migrations.length && !migrates) throw older(name, migrations[applied]?.name ?? '', applied)
    while (applied < migrations.length) applied = await applyNext(client, name, migrations)
  } catch (error) {
    throw toStartupError(error, name)
  } finally {
    await client.end().catch(() => {})
  }
}

function older(name: string, missing: string, applied: number): StartupError {
  if (applied === 0)
    return new StartupError(`The database ${name} is empty: \`mediagen migrate\` makes it one of mediagen.`)
  return new StartupError(
    `The database ${name} was made by an older version of mediagen (migration ${missing} is missing): run \`mediagen migrate\`.`,
  )
}

async function refuseRestoring(client: Client, name: string): Promise<void> {
  if (await isRestoring(client))
    throw new StartupError(
      `The database ${name} is being restored from a backup, or that was cut short, and jobs that cost money would run again: run \`mediagen restore\` to its end.`,
    )
}

async function checkServer(client: Client, name: string): Promise<void> {
  const { rows } = await client.query<{
    version: number
    reads: boolean
    fixed: boolean
    lossy: string | null
    encoding: string
    now: number
  }>(
    `SELECT current_setting('server_version_num')::int AS version, pg_is_in_recovery() AS reads, current_setting('server_encoding') AS encoding,
       current_setting('transaction_read_only') = 'on' AS fixed, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now,
       CASE WHEN current_setting('mediagen.accept_data_loss', TRUE) = 'on' THEN NULL
         WHEN current_setting('fsync') = 'off' THEN 'fsync' WHEN current_setting('full_page_writes') = 'off' THEN 'full_page_writes' END AS lossy`,
  )
  const [server] = rows
  if (server === undefined) throw new Error('the server says nothing about itself')
  const { version, reads, fixed, lossy, encoding, now } = server
  if (version < oldestVersion)
    throw new StartupError(`The server of the database ${name} is older than PostgreSQL 15; use a newer one.`)
  if (reads)
    throw new StartupError(`The server of the database ${name} takes no changes: it follows another one; use that one.`)
  if (fixed) throw cannotBeUsed(name, reasons['25006'])
  if (lossy !== null)
    throw new StartupError(
      `The server of the database ${name} has ${lossy} = off: after a power cut, what it acknowledged may be lost, or the database damaged. Set ${lossy} = on; where that loses nothing that matters, say so with \`ALTER DATABASE … SET mediagen.accept_data_loss = on\`.`,
    )
  if (encoding !== 'UTF8')
    throw new StartupError(`The database ${name} has the encoding ${encoding}; use one with UTF8.`)
  const aheadMs = Date.now() - now
  if (Math.abs(aheadMs) > mostApartMs)
    throw new StartupError(
      `The clock of this machine is ${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the database ${name}, and at most ${mostApartMs / 1000} s are allowed; set both by a time server (NTP).`,
    )
}

async function readApplied(
  client: Client,
  name: string,
  migrations: readonly Migration[],
  exact = false,
): Promise<number> {
  const { rows } = await client.query<{ table: string }>(
    // Without those of extensions, such as pg_stat_statements, which belong to no program.
    `SELECT relname AS "table" FROM pg_class
     WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
       AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e')`,
  )
  const tables = rows.map(({ table }) => table)
  if (tables.length === 0) return 0
  if (!tables.includes('mediagen_migrations'))
    throw new StartupError(`The database ${name} belongs to another program; it was left as it is.`)
  const { rowCount } = await client.query(
    "SELECT 1 FROM pg_attribute WHERE attrelid = 'mediagen_migrations'::regclass AND attname = 'compatible'",
  )
  if (!rowCount) throw madeBeforeFirst(name)
  return checkApplied(name, (await client.query<Migration>(list)).rows, migrations, exact)
}

async function applyNext(client: Client, name: string, migrations: readonly Migration[]): Promise<number> {
  await client.query('BEGIN')
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended('mediagen migrate', 0))")
    // Another process may have been faster.
    const next = migrations[await readApplied(client, name, migrations)]
    if (next !== undefined) {
      if (!next.compatible) await refuseWhileServed(client, name, next.name)
      await client.query(
        'CREATE TABLE IF NOT EXISTS mediagen_migrations (number BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at BIGINT NOT NULL, compatible BOOLEAN NOT NULL)',
      )
      await client.query(next.sql)
      await client.query(
        'INSERT INTO mediagen_migrations (number, name, sha256, applied_at, compatible) VALUES ($1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, $4)',
        [next.number, next.name, next.sha256, next.compatible ?? false],
      )
    }
    const applied = await readApplied(client, name, migrations)
    await client.query('COMMIT')
    return applied
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** An older server at work would break, or break something, on a schema that is not made for it. */
async function refuseWhileServed(client: Client, name: string, migration: string): Promise<void> {
  if (await isServed(client))
    throw new StartupError(
      `The database ${name} is in use, and servers of an older version cannot work with migration ${migration}: stop all servers, then run \`mediagen migrate\`.`,
    )
}

/** Whether servers are connected to the database. */
export async function isServed(client: Client): Promise<boolean> {
  const { rows } = await client.query(
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'mediagen'",
  )
  return rows.length > 0
}

/** The database as an operator may read it: without the password. */
export function describeUrl(url: string): string {
  const { host, port, database = '' } = new Client({ connectionString: url })
  return `${database} at ${host.startsWith('/') ? host : `${host}:${port}`}`
}

const reasons: Readonly<Record<string, string>> = {
  '28P01': 'the server refuses the password',
  '28000': 'the server refuses the user',
  '3D000': 'the server has no database of this name',
  '42501': 'the user lacks rights there',
  '53100': 'the disk of the server is full',
  '53300': 'the server has no connection to spare',
  '55P03': 'another program has locked a table',
  '25006': 'the server takes no changes',
  '57P03': 'the server is starting or stopping',
  ECONNREFUSED: 'nothing answers there',
  ECONNRESET: 'the connection was cut',
  EHOSTUNREACH: 'there is no way to the host',
  ENETUNREACH: 'there is no way to the host',
  ETIMEDOUT: 'nothing answers there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be resolved',
  ENOENT: 'there is no socket of a server',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate of the server is signed by nobody whom this machine knows',
}

/** Why a database cannot be used, in a sentence for the operator. */
export function toStartupError(thrown: unknown, name: string): unknown {
  if (thrown instanceof StartupError) return thrown
  // That of a command has what the driver said as its cause.
  const error = thrown instanceof StorageError && thrown.cause instanceof Error ? thrown.cause : thrown
  const { code = '', message } = error as Error & { code?: string }
  // What the driver says when its patience ends.
  const reason = message === 'timeout expired' ? reasons['ETIMEDOUT'] : (reasons[code] ?? (message || code))
  return cannotBeUsed(name, reason, error)
}

function cannotBeUsed(name: string, reason = '', cause?: unknown): StartupError {
  return new StartupError(`The database ${name} cannot be used: ${reason}. Check MEDIAGEN_DATABASE_URL.`, { cause })
}
