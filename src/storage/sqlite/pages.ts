// Pages of rows that meet some conditions, with the total.
import type { Page, PageRequest } from '../../core/page.ts'
import type { Connection } from './connection.ts'

/** Reads pages of one kind of row. */
export interface Pages<Row> {
  /** The page, and the number of rows that meet the conditions: the result of `count`, or counted here. */
  read(where: readonly string[], values: object, page: PageRequest, count?: () => number): Page<Row>
  count(where: readonly string[], values: object): number
}

/**
 * Creates a reader of pages. Conditions name their values, such as `account_id = :accountId`; each set of them is prepared once.
 * @param order a unique column; rows are sorted by it, descending
 */
export function createPages<Row>(db: Connection, columns: string, from: string, order: string): Pages<Row> {
  const lists = new Map<string, ReturnType<typeof prepareList>>()
  const counts = new Map<string, ReturnType<typeof prepareCount>>()
  const prepareList = (where: string) =>
    db.prepare<[object], Row>(
      `SELECT ${columns} FROM ${from} ${where} ORDER BY ${order} DESC LIMIT :limit OFFSET :offset`,
    )
  const prepareCount = (where: string) => db.prepare<[object], number>(`SELECT count(*) FROM ${from} ${where}`).pluck()

  function find<Statement>(
    known: Map<string, Statement>,
    prepare: (where: string) => Statement,
    all: readonly string[],
  ) {
    const where = all.length === 0 ? '' : `WHERE ${all.join(' AND ')}`
    let statement = known.get(where)
    if (statement === undefined) known.set(where, (statement = prepare(where)))
    return statement
  }
  const count = (where: readonly string[], values: object): number => find(counts, prepareCount, where).get(values) ?? 0

  return {
    count,
    // One read transaction, so page and total are consistent.
    read: (where, values, { limit, offset }, total = () => count(where, values)) =>
      db.transaction(() => ({
        items: find(lists, prepareList, where).all({ ...values, limit, offset }),
        total: total(),
      }))(),
  }
}

/** The condition that rows belong to an account; null for all accounts. */
export function ofAccount(accountId: string | null): string[] {
  return accountId === null ? [] : ['account_id = :accountId']
}
