// Inserts many rows with few statements: a statement of its own for each row costs half as much again.
import type { Connection } from './connection.ts'

/** A value of a column. */
export type Value = string | number | Buffer | null

// A statement of 32 rows gains nothing over two of 16.
const sizes = [16, 8, 4, 2, 1]

/** Creates a function that inserts rows, in order; it takes the values of all of their columns, row after row. */
export function createRowInsert(db: Connection, table: string, columns: string): (values: readonly Value[]) => void {
  const marks = columns.split(',').map(() => '?')
  const inserts = sizes.map((size) => ({
    width: size * marks.length,
    statement: db.prepare<Value[]>(
      `INSERT INTO ${table} (${columns}) VALUES ${Array<string>(size)
        .fill(`(${marks.join(', ')})`)
        .join(', ')}`,
    ),
  }))
  return (values) => {
    let next = 0
    for (const { width, statement } of inserts)
      for (; values.length - next >= width; next += width) statement.run(...values.slice(next, next + width))
  }
}
