// Inserts many rows with few statements, since each statement opens a temporary table for what its triggers read.
import type { Connection } from './connection.ts'

/** A value of a column. */
export type Value = string | number | Buffer | null

// Maximum number of rows of a statement. Those of 1 to 32 rows take 1 MB for each table, if all are ever needed.
const mostRows = 32

/** Creates a function that inserts rows, in order; it takes the values of all of their columns, row after row. */
export function createRowInsert(db: Connection, table: string, columns: string): (values: readonly Value[]) => void {
  const width = columns.split(',').length
  const row = `(${Array<string>(width).fill('?').join(', ')})`
  const prepare = (rows: number) =>
    db.prepare<Value[]>(`INSERT INTO ${table} (${columns}) VALUES ${Array<string>(rows).fill(row).join(', ')}`)
  const statements: ReturnType<typeof prepare>[] = []
  return (values) => {
    for (let next = 0; next < values.length; next += mostRows * width) {
      const some = values.slice(next, next + mostRows * width)
      const rows = some.length / width
      ;(statements[rows] ??= prepare(rows)).run(...some)
    }
  }
}
