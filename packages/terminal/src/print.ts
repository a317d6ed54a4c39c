// What commands print: a JSON document with --json, else lines for people.

// A column is never cut below this.
const narrowest = 8
// What stands for no value in a table.
const none = '-'

/** A record as a command prints it: flat, snake_case. */
export type Printed = Readonly<Record<string, unknown>>

/** Prints a record as lines, a list as a table, and either as JSON if that is asked for. */
export function print(what: Printed | readonly Printed[], json = false): void {
  if (json) process.stdout.write(`${JSON.stringify(what)}\n`)
  else process.stdout.write(isList(what) ? toTable(what) : `${toLines(what)}\n`)
}

function isList(what: Printed | readonly Printed[]): what is readonly Printed[] {
  return Array.isArray(what)
}

/** A line for each field that has a value. */
function toLines(record: Printed): string {
  const known = Object.entries(record).filter(([, value]) => toCell(value) !== none)
  const width = Math.max(...known.map(([name]) => name.length))
  return known.map(([name, value]) => `${name.padEnd(width)}  ${toCell(value)}`).join('\n')
}

function toTable(records: readonly Printed[]): string {
  const [first] = records
  if (!first) return '(none)\n'
  const names = Object.keys(first)
  const rows = [names, ...records.map((record) => names.map((name) => toCell(record[name])))]
  const widths = fit(
    names.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length))),
    process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY,
  )
  const toLine = (row: readonly string[]): string =>
    row.map((cell, column) => cut(cell, widths[column] ?? 0).padEnd(widths[column] ?? 0)).join('  ')
  return rows.map((row) => `${toLine(row).trimEnd()}\n`).join('')
}

/** Takes from the widest column until the columns, two spaces apart, fit into a line of the terminal. */
function fit(widths: readonly number[], columns: number): readonly number[] {
  const fitted = [...widths]
  let over = fitted.reduce((sum, width) => sum + width + 2, -2) - columns
  for (; over > 0; over -= 1) {
    const widest = fitted.indexOf(Math.max(...fitted))
    if ((fitted[widest] ?? 0) <= narrowest) break
    fitted[widest] = (fitted[widest] ?? 0) - 1
  }
  return fitted
}

function cut(cell: string, width: number): string {
  return cell.length <= width ? cell : `${cell.slice(0, width - 1)}…`
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return none
  if (Array.isArray(value)) return value.map(toItem).join(', ') || none
  return String(value)
}

/** A record within a record, on one line. */
function toItem(item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item)
  const known = Object.entries(item).filter(([, value]) => value !== null)
  return known.map(([name, value]) => `${name}=${String(value)}`).join(' ')
}
