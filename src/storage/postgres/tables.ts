// The tables of a PostgreSQL database, to copy an installation from it or into an empty one.
import { Client } from 'pg'
import { StartupError } from '../../core/errors.ts'
import { batchRows, type Cell, movedTables, type MovedTable, type TableSource, type TableTarget } from '../tables.ts'
import { toClientConfig } from './connection.ts'
import { prepareDatabase } from './migrate.ts'

const tables = Object.keys(movedTables) as readonly MovedTable[]

/** A database that is read, and what pg_dump needs to read the same. */
export interface PostgresTables extends TableSource {
  /** The name of what this connection sees, until it is disposed of. */
  exportSnapshot(): Promise<string>
}

/**
 * Opens a database for reading, as it is now.
 * @param locks whether other processes cannot write to it until it is disposed of
 * @param restores whether the caller is the one that restores into it
 * @throws StartupError when it cannot be used, or its schema is not that of this program
 */
export async function openPostgresTables(url: string, locks = true, restores = false): Promise<PostgresTables> {
  await prepareDatabase(url, false, undefined, true, restores)
  const client = await connect(url)
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  if (locks) await client.query(`LOCK TABLE ${tables.join(', ')} IN SHARE MODE`)
  return {
    ...createReads(client),
    async isServed(nowMs) {
      const { rows } = await client.query(
        `SELECT 1 FROM leaders WHERE until > $1 UNION ALL SELECT 1 FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = current_setting('application_name') AND pid <> pg_backend_pid()`,
        [nowMs],
      )
      return rows.length > 0
    },
    async exportSnapshot() {
      const { rows } = await client.query<{ name: string }>('SELECT pg_export_snapshot() AS name')
      return rows[0]?.name ?? ''
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}

/**
 * Prepares an empty database: the schema is made at once, everything else with the commit.
 * @throws StartupError when it cannot be used, or there is something in it
 */
export async function createPostgresTables(url: string): Promise<TableTarget> {
  await prepareDatabase(url, true)
  const client = await connect(url)
  await client.query('BEGIN; SET CONSTRAINTS ALL DEFERRED')
  const { rows } = await client.query('SELECT 1 FROM accounts UNION ALL SELECT 1 FROM signing_keys LIMIT 1')
  if (rows.length > 0) {
    await client.end()
    throw new StartupError('The database to move to has accounts or keys already; move to an empty one.')
  }
  // Triggers would count again what the rows have counted, and refuse rows that are not new.
  const setTriggers = async (verb: 'DISABLE' | 'ENABLE'): Promise<void> => {
    for (const table of tables) await client.query(`ALTER TABLE ${table} ${verb} TRIGGER USER`)
  }
  await setTriggers('DISABLE')
  return {
    ...createReads(client),
    async write(table, columns, rows) {
      const types = await readTypes(client, table)
      const lists = columns.map((_, index) => rows.map((row) => row[index] ?? null))
      const parameters = columns.map((column, index) => `$${index + 1}::${types.get(column)}[]`).join(', ')
      await client.query(
        `INSERT INTO ${table} (${columns.join(', ')}) OVERRIDING SYSTEM VALUE SELECT * FROM unnest(${parameters})`,
        lists,
      )
    },
    async commit() {
      await client.query(`SELECT setval('job_numbers', coalesce(max(number), 0) + 1, false) FROM jobs`)
      await client.query(
        `SELECT setval(pg_get_serial_sequence('webhook_deliveries', 'number'), coalesce(max(number), 0) + 1, false) FROM webhook_deliveries`,
      )
      // Rules that wait for the commit are checked now: a table cannot be altered before.
      await client.query('SET CONSTRAINTS ALL IMMEDIATE')
      await setTriggers('ENABLE')
      await client.query('COMMIT')
      // Plans follow from what is known of the rows; the server would find out only after a while.
      await client.query('ANALYZE')
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}

async function connect(url: string): Promise<Client> {
  // A batch, and the check of a large table, may take long.
  const client = new Client({ ...toClientConfig(url), query_timeout: 0 })
  await client.connect()
  return client
}

/** The types of the columns that are stored. */
async function readTypes(client: Client, table: MovedTable): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
    [table],
  )
  return new Map(rows.map(({ name, type }) => [name, type]))
}

function createReads(client: Client): Pick<TableSource, 'columns' | 'read'> {
  return {
    columns: async (table) => [...(await readTypes(client, table)).keys()].toSorted(),
    async *read(table, columns) {
      const key = movedTables[table].join(', ')
      await client.query(
        `DECLARE moved NO SCROLL CURSOR FOR SELECT ${columns.join(', ')} FROM ${table} ORDER BY ${key}`,
      )
      for (;;) {
        const { rows } = await client.query<Cell[]>({ text: `FETCH ${batchRows} FROM moved`, rowMode: 'array' })
        if (rows.length === 0) break
        yield rows
      }
      await client.query('CLOSE moved')
    },
  }
}
