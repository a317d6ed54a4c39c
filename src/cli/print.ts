// What commands print: a JSON document with --json, else lines for people.

/** A record as a command prints it: flat, snake_case. */
export type Printed = Readonly<Record<string, unknown>>

/** Prints one record. */
export function printRecord(record: Printed, json: boolean): void {
  process.stdout.write(json ? `${JSON.stringify(record)}\n` : `${toLines(record)}\n`)
}

/** Prints a list of records as a JSON array or a table. */
export function printList(records: readonly Printed[], json: boolean): void {
  process.stdout.write(json ? `${JSON.stringify(records)}\n` : toTable(records))
}

function toLines(record: Printed): string {
  const width = Math.max(...Object.keys(record).map((name) => name.length))
  return Object.entries(record)
    .map(([name, value]) => `${name.padEnd(width)}  ${toCell(value)}`)
    .join('\n')
}

function toTable(records: readonly Printed[]): string {
  const [first] = records
  if (!first) return '(none)\n'
  const names = Object.keys(first)
  const rows = [names, ...records.map((record) => names.map((name) => toCell(record[name])))]
  const widths = names.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  return Array.isArray(value) ? value.join(',') : String(value)
}
