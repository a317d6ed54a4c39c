// Pages of rows that meet some conditions, with the total.
import type { Page, PageRequest } from '../../core/page.ts'
import { listTookTooLong } from '../../core/storage-trouble.ts'
import { mostListMs } from '../search.ts'
import { StorageError } from '../storage-error.ts'
import type { Database } from './connection.ts'

// The server ended a statement that took too long, or an operator did.
const endedCode = '57014'

/** What a list reads. */
export interface Listing {
  readonly columns: string
  readonly from: string
  /** A unique column; rows are sorted by it, descending. */
  readonly order: string
  /** Adds columns to the rows of a page, in SQL. */
  extend?(rows: string): string
}

/**
 * Reads a page; `count` is an expression of SQL for the total where counting rows would take long.
 * @throws MediagenError `overloaded` when it takes too long, StorageError
 */
export async function readPage<Row extends object>(
  db: Pick<Database, 'rows'>,
  { columns, from, order, extend = (rows) => rows }: Listing,
  where: readonly string[],
  values: object,
  { limit, offset }: PageRequest,
  count = countOf(from, where),
): Promise<Page<Row>> {
  // One statement, so that page and total are of the same moment; the row of the total comes even if the page is empty.
  const rows = await readInTime<Row & { total: number; present: boolean | null }>(
    db,
    `SELECT page.*, (${count})::bigint AS total FROM (SELECT 1) AS one LEFT JOIN (${extend(
      `SELECT ${columns}, ${order} AS position, TRUE AS present FROM ${from} ${toWhere(where)} ORDER BY ${order} DESC LIMIT :limit OFFSET :offset`,
    )}) AS page ON TRUE ORDER BY page.position DESC`,
    { ...values, limit, offset },
  )
  const items = rows.flatMap((row) => (row.present === null ? [] : [withoutExtras(row)]))
  return { items: items as unknown as Row[], total: rows[0]?.total ?? 0 }
}

/**
 * Reads the rows of a list.
 * @throws MediagenError `overloaded` when it takes too long, StorageError
 */
export function readInTime<Row extends object>(
  db: Pick<Database, 'rows'>,
  sql: string,
  values: Readonly<Record<string, unknown>>,
): Promise<Row[]> {
  return db.rows<Row>(sql, values, mostListMs).catch((error: unknown) => {
    throw error instanceof StorageError && error.code === endedCode ? listTookTooLong(mostListMs, error) : error
  })
}

/** An expression that counts rows. */
export function countOf(from: string, where: readonly string[]): string {
  return `SELECT count(*) FROM ${from} ${toWhere(where)}`
}

/** The condition that rows belong to an account; null for all accounts. */
export function ofAccount(accountId: string | null): string[] {
  return accountId === null ? [] : ['account_id = :accountId']
}

function toWhere(where: readonly string[]): string {
  return where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`
}

function withoutExtras(row: Record<string, unknown>): Record<string, unknown> {
  const { position: _, present: __, total: ___, ...own } = row
  return own
}
