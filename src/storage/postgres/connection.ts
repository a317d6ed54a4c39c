// Connections to PostgreSQL, and transactions that are repeated where that doubles nothing.
import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import {
  type ClientBase,
  type ClientConfig,
  type CustomTypesConfig,
  DatabaseError,
  Pool,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  type QueryResult,
  type QueryResultRow,
  types,
} from 'pg'
import { StorageError } from '../storage-error.ts'
import { compileSql, type Values } from './sql.ts'

/** The code of errors of a connection that is lost or cannot be made. */
const lostCode = 'DATABASE_LOST'
/** The code of a command that may have been done. It is not repeated. */
const doubtCode = 'DATABASE_DOUBT'
// Connections that end, servers that start, stop or only follow another: https://www.postgresql.org/docs/current/errcodes-appendix.html
// So do transactions that were idle, or waited for a lock, for too long.
const lostStates = /^(08...|57P0[1235]|25006|25P03|55P03)$/
const refusedStates = new Set(['25006', '55P03'])
// Serialization failures and deadlocks.
const repeatedStates = new Set(['40001', '40P01'])
// How long a command tries to reach the server, and how often it meets a deadlock, before it fails.
const patienceMs = 5000
const mostRepeats = 20
const firstWaitMs = 20
const longestWaitMs = 500
const connectMs = 5000
// An answer that takes longer counts as lost: lost packets show in no other way.
const answerMs = 10_000
// Statements have no name, so each is planned for its values; triggers and foreign keys keep their plans. A transaction whose client
// was lost ends soon, and those that wait for its locks give up instead of taking over and being lost in turn. What is committed is
// flushed, whatever a role or a database sets; a stricter setting stays.
const begin = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s'; SET LOCAL lock_timeout = '5s';
  SELECT set_config('synchronous_commit', 'on', TRUE) WHERE current_setting('synchronous_commit') = 'off'`

/**
 * A row that a transaction marks as its last act, so that its commit can be checked afterwards; one transaction uses it at a time. Numbers
 * of transactions are even. An odd one says that the transaction before it was given up: its mark, if that comes late, becomes NULL,
 * and nothing of it is committed.
 */
interface Slot {
  readonly name: string
  n: number
}

const mark = `INSERT INTO commits AS c (slot, n, used_at) VALUES (:name, :n, now_ms(NULL))
  ON CONFLICT (slot) DO UPDATE SET n = CASE WHEN c.n < excluded.n THEN excluded.n END, used_at = excluded.used_at`

/** A transaction. Statements are sent at once, in order, without waiting for the answer of the one before. */
export interface Transaction {
  /** The time of the store. */
  nowMs(): Promise<number>
  rows<Row extends object>(sql: string, values?: Values): Promise<Row[]>
  row<Row extends object>(sql: string, values?: Values): Promise<Row | undefined>
  /** Number of rows that the statement changed. */
  change(sql: string, values?: Values): Promise<number>
  /** Sends a statement whose failure is noticed at the commit. */
  send(sql: string, values?: Values): void
  /** Says that nothing was changed: the end is not marked, so nothing is flushed. */
  unchanged(): void
}

/** The connection of a store. */
export interface Database {
  /**
   * A read in one statement. `:held` is the time of a test, or null.
   * @param mostMs after which the server gives up; without it, only this process does, so it is for short reads @throws StorageError
   */
  rows<Row extends object>(sql: string, values?: Values, mostMs?: number): Promise<Row[]>
  row<Row extends object>(sql: string, values?: Values): Promise<Row | undefined>
  /**
   * Runs a command. It may be called more than once, so it has no effect but through the transaction.
   * When the connection is lost, the next one finds out whether the transaction was committed. @throws StorageError
   */
  transact<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>
  /** The time of the server, as far as this process knows it. */
  nowMs(): number
  /** Learns the time of the server; transactions do this themselves. @param requestedMs when it was requested, of `performance.now()` */
  learnTime(serverMs: number, requestedMs: number): void
  /** Why the last command found no server that takes changes; null when one has changed something since. */
  trouble(): StorageError | null
  close(): Promise<void>
}

const numbers: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    (oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format)) as () => unknown,
}

// What the types of the driver lack.
type PoolSettings = Omit<PoolConfig, 'onConnect'> & { pipeline: true; onConnect(client: ClientBase): Promise<void> }
type Timed = QueryConfig & { query_timeout: number | undefined }

/** How a client connects; whole numbers are read as numbers. */
export function toClientConfig(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: 'mediagen',
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    keepAlive: true,
    types: numbers,
  }
}

/**
 * Opens a pool; it connects at the first statement.
 * @param heldMs the time of a test; null for that of the server
 * @param restores whether the caller is the one that restores into it
 */
export function openDatabase(
  url: string,
  connections: number,
  heldMs: () => number | null,
  restores = false,
): Database {
  const config: PoolSettings = {
    ...toClientConfig(url),
    max: connections,
    pipeline: true,
    allowExitOnIdle: true,
    onConnect: (client) => refuse(client, restores),
  }
  const pool = new Pool(config)
  /** The time of the server when the clock of this process, which nobody sets, was at 0; null until it is known. */
  let originMs: number | null = null
  function learnTime(serverMs: number, requestedMs: number): void {
    // The server read its clock between the request and the answer, however late that came; an origin that disagrees is
    // of a clock that was set since, or that runs differently.
    const [earliest, latest] = [serverMs - performance.now(), serverMs - requestedMs]
    originMs = originMs === null ? earliest : Math.min(Math.max(originMs, earliest), latest)
  }
  let trouble: StorageError | null = null
  /** Those that no transaction uses. */
  const slots: Slot[] = []
  // A connection that ends is replaced when it is needed; what was sent on it fails.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))

  async function connect(): Promise<PoolClient> {
    if (pool.ending) throw new StorageError('the store is closed', null)
    return pool.connect().catch((error: unknown) => {
      throw toLost(error)
    })
  }

  async function rows<Row extends object>(sql: string, values: Values = {}, mostMs?: number): Promise<Row[]> {
    return repeat(async () => {
      const held = heldMs()
      const client = await connect()
      // A setting of the session would stay with other clients of a pooler.
      const begun = mostMs && quiet(query(client, `BEGIN READ ONLY; SET LOCAL statement_timeout = ${mostMs}`))
      const answer = query(client, sql, { held, ...values }, (mostMs ?? 0) + answerMs)
      const ended = mostMs && quiet(query(client, 'COMMIT'))
      try {
        const [{ rows }] = await Promise.all([answer, begun, ended])
        client.release()
        return rows as Row[]
      } catch (error) {
        await Promise.allSettled([ended])
        client.release(isLost(error))
        throw error
      }
    })
  }

  /**
   * Whether the transaction that marked its slot with `n` was committed; if not, it never will be. Waits until it has ended: it holds
   * the row. Numbers of PostgreSQL's transactions do not show it, since a crash makes it give some out again.
   */
  async function wasCommitted({ name, n }: Slot): Promise<boolean> {
    const sql = `INSERT INTO commits AS c (slot, n, used_at) VALUES (:name, :n + 1, now_ms(NULL))
      ON CONFLICT (slot) DO UPDATE SET n = CASE c.n WHEN :n THEN c.n ELSE greatest(c.n, excluded.n) END RETURNING n`
    try {
      return (await rows<{ n: number }>(sql, { name, n }))[0]?.n === n
    } catch (error) {
      throw new StorageError('nobody knows whether the change was committed', doubtCode, { cause: error })
    }
  }

  async function attempt<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    const slot = slots.pop() ?? { name: randomUUID(), n: 0 }
    try {
      return await attemptIn(slot, work)
    } finally {
      slots.push(slot)
    }
  }

  async function attemptIn<Result>(slot: Slot, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    slot.n += 2
    const held = heldMs()
    const client = await connect()
    const requestedMs = performance.now()
    const sent: Promise<unknown>[] = [quiet(query(client, begin))]
    const head = quiet(query(client, 'SELECT now_ms(:held) AS now', { held }))
    head.then(({ rows: [row] }) => learnTime((row as { now: number }).now, requestedMs)).catch(() => {})
    /** What failed first; every later statement only says that the transaction has failed. */
    let failed: unknown = null
    const ask = (sql: string, values?: Values): Promise<QueryResult> => {
      const answer = query(client, sql, { held, ...values })
      answer.catch((error: unknown) => (failed ??= error))
      return answer
    }
    let done: { readonly result: Result } | null = null
    let isChanged = true
    try {
      const result = await work({
        nowMs: async () => ((await head).rows[0] as { now: number }).now,
        rows: (sql, values) => quiet(ask(sql, values).then(({ rows }) => rows as never)),
        row: (sql, values) => quiet(ask(sql, values).then(({ rows }) => rows[0] as never)),
        change: (sql, values) => quiet(ask(sql, values).then(({ rowCount }) => rowCount ?? 0)),
        send: (sql, values) => void sent.push(ask(sql, values)),
        unchanged: () => void (isChanged = false),
      })
      done = { result }
      if (isChanged) sent.push(ask(mark, { ...slot }))
      // In a transaction that has failed, COMMIT rolls back without an error; what failed says so itself.
      await Promise.all([...sent, ask('COMMIT')])
      if (isChanged) trouble = null
      client.release()
      return result
    } catch (thrown) {
      const error = failed ?? thrown
      if (!isLost(error)) {
        await query(client, 'ROLLBACK').then(
          () => client.release(),
          () => client.release(true),
        )
        throw error
      }
      trouble = error
      client.release(true)
      if (done !== null && !isRefused(error) && (!isChanged || (await wasCommitted(slot)))) return done.result
      throw error
    }
  }

  return {
    rows,
    row: async (sql, values) => (await rows(sql, values))[0] as never,
    transact: (work) => repeat(() => attempt(work)),
    nowMs: () => heldMs() ?? (originMs === null ? Date.now() : Math.round(originMs + performance.now())),
    learnTime,
    trouble: () => trouble,
    close: () => pool.end(),
  }
}

/** Tries again after deadlocks and lost connections. */
async function repeat<Result>(work: () => Promise<Result>): Promise<Result> {
  const giveUpAt = performance.now() + patienceMs
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      const again = isLost(error)
        ? performance.now() < giveUpAt
        : error instanceof StorageError && repeatedStates.has(error.code ?? '') && tries < mostRepeats
      if (!again) throw error
      await setTimeout(Math.min(longestWaitMs, firstWaitMs * 2 ** (tries - 1)) * (0.5 + Math.random() / 2))
    }
  }
}

async function query(
  client: PoolClient,
  sql: string,
  values?: Values,
  mostMs?: number,
): Promise<QueryResult<QueryResultRow>> {
  try {
    const { text, list } = compileSql(sql, values)
    const timed: Timed = { text, ...(list.length > 0 && { values: list }), query_timeout: mostMs }
    return await client.query(timed)
  } catch (error) {
    throw toStorageError(error)
  }
}

/** An error of the server keeps its code; any other is one of the connection. */
export function toStorageError(error: unknown): StorageError {
  const { message, code } = error as Error & { code?: string }
  const state = error instanceof DatabaseError ? (code ?? null) : lostCode
  return new StorageError(message || String(error), state !== null && lostStates.test(state) ? lostCode : state, {
    cause: error,
  })
}

/**
 * The error of a connection that cannot be made, whatever the server says: it has none to spare, a new password, or is being
 * replaced. Nothing was sent.
 */
function toLost(error: unknown): StorageError {
  return new StorageError(toStorageError(error).message, lostCode, { cause: error })
}

/** Whether the server itself refused: it takes no changes, or waited too long for a lock. Then nothing was committed. */
function isRefused({ cause }: StorageError): boolean {
  return cause instanceof DatabaseError && refusedStates.has(cause.code ?? '')
}

function isLost(error: unknown): error is StorageError {
  return error instanceof StorageError && error.code === lostCode
}

/** Refuses a standby: it answers reads, so a process that changes nothing would not notice that another server leads. */
async function refuse(client: ClientBase, restores: boolean): Promise<void> {
  const { rows } = await client.query<{ follows: boolean }>('SELECT pg_is_in_recovery() AS follows')
  if (rows[0]?.follows) throw new Error('the server follows another one and takes no changes')
  // This process may have been there before its database was replaced.
  if (!restores && (await isRestoring(client))) throw new Error('the database is being restored from a backup')
}

/** A table that is there while a backup is restored: what is in the database is not complete then. */
export const restoringTable = 'mediagen_restoring'

/** Whether a database has the mark. */
export async function isRestoring(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ found: string | null }>('SELECT to_regclass($1) AS found', [restoringTable])
  return rows[0]?.found != null
}

/** Keeps a failure that is not awaited from ending the process as an unhandled rejection. */
function quiet<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {})
  return promise
}
