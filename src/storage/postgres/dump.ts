// Copies a PostgreSQL database to a file and back, by PostgreSQL's own programs of the server's version.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { StartupError } from '../../core/errors.ts'
import { restoringTable, toClientConfig } from './connection.ts'
import { describeUrl, isServed, toStartupError } from './migrate.ts'

const run = promisify(execFile)

/**
 * Writes what a snapshot sees to a file, in the custom format of pg_dump.
 * @param snapshot from `exportSnapshot`, on a connection that is still open
 * @throws StartupError when pg_dump is missing, of another version, or fails
 */
export async function dumpDatabase(url: string, snapshot: string, file: string): Promise<void> {
  await requireProgram('pg_dump', url)
  await runProgram('pg_dump', url, ['--format=custom', '--no-password', `--snapshot=${snapshot}`, `--file=${file}`])
}

/** A restore that has begun: until it is finished, no server starts on the database. */
export interface BegunRestore extends AsyncDisposable {
  /**
   * Restores a file of `dumpDatabase`, whole or not at all, in place of what an earlier attempt has left.
   * @throws StartupError when pg_restore fails
   */
  load(file: string): Promise<void>
  finish(): Promise<void>
}

/** Under another name than that of servers. */
const connectTo = (url: string): Client => new Client({ ...toClientConfig(url), application_name: 'mediagen backup' })

const restoreLock = "hashtextextended('mediagen restore', 0)"

/**
 * Marks an empty database as one that is being restored. The mark outlives this process, and only `finish` removes it.
 * @throws StartupError as `requireEmptyDatabase`, when another process restores into it, or pg_restore is missing or of another version
 */
export async function beginRestore(url: string): Promise<BegunRestore> {
  await requireProgram('pg_restore', url)
  const client = connectTo(url)
  client.on('error', () => {})
  let again: boolean
  try {
    await client.connect()
    // Held as long as the connection.
    const { rows } = await client.query<{ alone: boolean }>(`SELECT pg_try_advisory_lock(${restoreLock}) AS alone`)
    if (!rows[0]?.alone)
      throw new StartupError(`Another process restores into the database ${describeUrl(url)}; wait for its end.`)
    const found = (await client.query<Tables>(tablesSql)).rows[0]
    refuseFull(url, found)
    again = found?.restoring ?? false
    // It does nothing while pg_restore works, for hours perhaps.
    await client.query('SET idle_session_timeout = 0')
    await client.query(`CREATE TABLE IF NOT EXISTS ${restoringTable} ()`)
    // Those that connect after this are refused.
    if (await isServed(client)) {
      if (!again) await client.query(`DROP TABLE ${restoringTable}`)
      throw new StartupError(
        `A server is connected to the database ${describeUrl(url)}; stop all of its servers first.`,
      )
    }
  } catch (error) {
    await client.end().catch(() => {})
    throw toStartupError(error, describeUrl(url))
  }
  const options = ['--single-transaction', '--exit-on-error', '--no-owner', '--no-privileges', '--no-password']
  return {
    load: (file) => runProgram('pg_restore', url, [...options, ...(again ? ['--clean', '--if-exists'] : []), file]),
    async finish() {
      try {
        await client.query(`DROP TABLE ${restoringTable}`)
      } catch (error) {
        throw toStartupError(error, describeUrl(url))
      }
    },
    [Symbol.asyncDispose]: () => client.end().catch(() => {}),
  }
}

interface Tables {
  readonly tables: number
  readonly restoring: boolean
}

const tablesSql = `SELECT count(*)::int AS tables, coalesce(bool_or(relname = '${restoringTable}'), FALSE) AS restoring
  FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm')`

/** @throws StartupError when there is something in the database that is not of an earlier restore, or it cannot be reached */
export async function requireEmptyDatabase(url: string): Promise<void> {
  const [found] = await ask<Tables>(url, tablesSql)
  refuseFull(url, found)
}

function refuseFull(url: string, found: Tables | undefined): void {
  if (found === undefined || (found.tables > 0 && !found.restoring))
    throw new StartupError(`The database ${describeUrl(url)} is not empty; create another one, and restore into that.`)
}

/** Why PostgreSQL's programs cannot be used for a database. */
export interface ProgramTrouble {
  readonly needed: string
  readonly found: string
  /** The package of Debian that has it. */
  readonly package: string
  /** Where that puts it. */
  readonly folder: string
}

/** Finds it; null if they can. */
export async function findProgramTrouble(
  program: 'pg_dump' | 'pg_restore',
  url: string,
): Promise<ProgramTrouble | null> {
  const [server] = await ask<{ major: number }>(
    url,
    "SELECT current_setting('server_version_num')::int / 10000 AS major",
  )
  const major = server?.major ?? 0
  const version = await run(program, ['--version']).then(
    ({ stdout }) => Number(/ (\d+)/.exec(stdout)?.[1] ?? 0),
    () => null,
  )
  if (version === major) return null
  return {
    needed: `${program} of PostgreSQL ${major} is needed`,
    found: `${version === null ? 'none is' : `the one of version ${version} is`} in PATH`,
    package: `postgresql-client-${major}`,
    folder: `/usr/lib/postgresql/${major}/bin`,
  }
}

async function requireProgram(program: 'pg_dump' | 'pg_restore', url: string): Promise<void> {
  const trouble = await findProgramTrouble(program, url)
  if (trouble === null) return
  throw new StartupError(
    `${trouble.needed}, and ${trouble.found}: install ${trouble.package}, and begin PATH with the folder of its programs (${trouble.folder} in Debian).`,
  )
}

/** Other users see the arguments of a process, but not its environment. */
async function runProgram(program: string, url: string, args: readonly string[]): Promise<void> {
  const { password } = new Client({ connectionString: url })
  // Not read as a URL: one of a socket has no host.
  const address = url.replace(/^([^:]+:\/\/[^:/?#]*):[^/?#]*@/, '$1@').replace(/(?<=[?&])password=[^&]*&?/, '')
  // oxlint-disable-next-line node/no-process-env -- nothing is read from it: the program inherits it
  const env = { ...process.env, ...(password && { PGPASSWORD: password }) }
  try {
    await run(program, [`--dbname=${address}`, ...args], { env, maxBuffer: 64 * 1024 * 1024 })
  } catch (error) {
    const [line = ''] = ((error as { stderr?: string }).stderr ?? '').split('\n')
    throw new StartupError(`${line || `${program} failed`}. Nothing else was changed.`, { cause: error })
  }
}

async function ask<Row extends object>(url: string, sql: string): Promise<readonly Row[]> {
  const client = connectTo(url)
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query<Row>(sql)).rows
  } catch (error) {
    throw toStartupError(error, describeUrl(url))
  } finally {
    await client.end().catch(() => {})
  }
}
