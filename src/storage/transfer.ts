// Copies all tables from one database to another, and holds every row of the copy against the original before it counts.
import { isDeepStrictEqual } from 'node:util'
import { StartupError } from '../core/errors.ts'
import { type Cell, movedTables, type MovedTable, type TableSource, type TableTarget } from './tables.ts'

/** Rows that were copied, by table. */
export type TransferCounts = Readonly<Record<MovedTable, number>>

/**
 * Copies whole, or not at all. The original is not changed.
 * @throws StartupError when a copied row is not the same, or the two have different columns
 */
export async function transfer(from: TableSource, to: TableTarget): Promise<TransferCounts> {
  const counts: Partial<Record<MovedTable, number>> = {}
  for (const table of Object.keys(movedTables) as MovedTable[]) {
    const columns = await from.columns(table)
    if (!isDeepStrictEqual(columns, await to.columns(table)))
      throw new StartupError(`The table ${table} has other columns in the database to move to.`)
    let rows = 0
    for await (const batch of from.read(table, columns)) {
      await to.write(table, columns, batch)
      rows += batch.length
    }
    counts[table] = rows
  }
  for (const table of Object.keys(movedTables) as MovedTable[]) await compare(from, to, table)
  await to.commit()
  return counts as TransferCounts
}

async function compare(from: TableSource, to: TableTarget, table: MovedTable): Promise<void> {
  const columns = await from.columns(table)
  const copies = each(to.read(table, columns))
  for await (const row of each(from.read(table, columns))) {
    const copy = await copies.next()
    if (copy.done || !isSame(row, copy.value)) throw differs(table, row)
  }
  const more = await copies.next()
  if (!more.done) throw differs(table, more.value)
}

async function* each(batches: AsyncIterable<readonly (readonly Cell[])[]>): AsyncGenerator<readonly Cell[], void> {
  for await (const batch of batches) yield* batch
}

function isSame(row: readonly Cell[], copy: readonly Cell[]): boolean {
  return row.every((cell, index) => {
    const copied = copy[index]
    return cell instanceof Uint8Array && copied instanceof Uint8Array
      ? Buffer.compare(cell, copied) === 0
      : Object.is(cell, copied)
  })
}

function differs(table: string, row: readonly Cell[]): StartupError {
  const shown = row.map((cell) => (cell instanceof Uint8Array ? '(bytes)' : String(cell))).join(' | ')
  return new StartupError(`A row of ${table} is not the same in the copy, so nothing was moved: ${shown.slice(0, 300)}`)
}
