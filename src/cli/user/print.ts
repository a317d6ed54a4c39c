// What commands print: a JSON document with --json, else lines for people, in which no text of others can act on the terminal.
import { escapeHidden } from '../../core/text/hidden-characters.ts'

// A column is never cut below this.
const narrowest = 8
// What stands for no value in a table.
const none = '-'

/** A record as a command prints it: flat, snake_case. */
export type Printed = Readonly<Record<string, unknown>>

/** Prints a record as lines, a list as a table, and either as JSON if that is asked for. */
export function print(what: Printed | readonly Printed[], json = false): void {
  if (json) process.stdout.write(`${JSON.stringify(what)}\n`)
  else say(isList(what) ? toTable(what) : `${toLines(what)}\n`)
}

/** Prints lines for people. Texts of others within a line must be escaped before, or they could end it. */
export function say(lines: string, to: NodeJS.WritableStream = process.stdout): void {
  to.write(lines.split('\n').map(escapeHidden).join('\n'))
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
    widths.map((width, column) => cut(row[column] ?? '', width).padEnd(width)).join('  ')
  const left = names.slice(widths.length)
  const note = left.length === 0 ? '' : `(--json prints ${left.join(', ')}, too)\n`
  return rows.map((row) => `${toLine(row).trimEnd()}\n`).join('') + note
}

/**
 * Takes from the widest columns until all of them, two spaces apart, fit into a line of the terminal, and leaves out the last
 * ones where that is not enough. The first is what records are called by, so it stays whole.
 */
function fit(widths: readonly number[], columns: number): readonly number[] {
  const [first = 0, ...others] = widths
  let over = widths.reduce((sum, width) => sum + width + 2, -2) - columns
  for (; over > 0; over -= 1) {
    const widest = others.indexOf(Math.max(...others))
    if ((others[widest] ?? 0) <= narrowest) return widths.length === 1 ? widths : fit(widths.slice(0, -1), columns)
    others[widest] = (others[widest] ?? 0) - 1
  }
  return [first, ...others]
}

function cut(cell: string, width: number): string {
  return cell.length <= width ? cell : `${cell.slice(0, width - 1)}…`
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return none
  if (Array.isArray(value)) return value.map(toItem).join(', ') || none
  return toItem(value) || none
}

/** A record within a record, on one line. */
function toItem(item: unknown): string {
  if (typeof item !== 'object' || item === null) return escapeHidden(String(item))
  const known = Object.entries(item).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  )
  return known
    .map(([name, value]) => `${name}=${Array.isArray(value) ? value.map(toItem).join(',') : toItem(value)}`)
    .join(' ')
}
