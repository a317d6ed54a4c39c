// What commands print: a JSON document with --json, else lines for people, in which no text of others can act on the terminal.
import { escapeHidden } from '../../core/text/hidden-characters.ts'

// A column is never cut below this.
const narrowest = 8
// What stands for no value in a table.
const none = '-'
// How instants are called.
const timeName = /_(?:at|until)$/
const steps = [
  ['second', 1],
  ['minute', 60],
  ['hour', 3600],
  ['day', 86_400],
  ['month', 30 * 86_400],
  ['year', 365 * 86_400],
] as const
const isId = /^[a-z]+_[0-9a-z]{20,}$/
const numbers = new Intl.NumberFormat('en')
const ages = new Intl.RelativeTimeFormat('en', { style: 'narrow' })

/** A record as a command prints it: flat, snake_case. */
export type Printed = Readonly<Record<string, unknown>>

/** How a table is printed. */
export interface TableOptions {
  /** The first columns, which are all that a terminal shows; without them it shows all. */
  readonly columns?: readonly string[]
  /** Whether a terminal gets all columns whole, as a pipe does. Unset for tables that have no option for it. */
  readonly wide?: boolean
}

/** Prints a record as lines, a list as a table, and either as JSON if that is asked for. */
export function print(what: Printed | readonly Printed[], json = false, options: TableOptions = {}): void {
  if (json) process.stdout.write(`${JSON.stringify(what)}\n`)
  else say(isList(what) ? toTable(what, options) : `${toLines(what)}\n`)
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
  const toAge = (name: string, value: unknown): string =>
    process.stdout.isTTY && isTime(name, value) ? `  (${describeAge(Date.parse(value))})` : ''
  return known.map(([name, value]) => `${name.padEnd(width)}  ${toCell(value)}${toAge(name, value)}`).join('\n')
}

function toTable(records: readonly Printed[], { columns = [], wide }: TableOptions): string {
  const [first] = records
  if (!first) return '(none)\n'
  const all = [...new Set([...columns, ...Object.keys(first)])]
  const isNarrow = process.stdout.isTTY && wide !== true
  const names = isNarrow && columns.length > 0 ? columns : all
  const toText = (name: string, value: unknown): string => {
    if (isNarrow && isTime(name, value)) return describeAge(Date.parse(value))
    return isNarrow && wide === false && typeof value === 'number' ? numbers.format(value) : toCell(value)
  }
  const heads = isNarrow ? names.map((name) => name.replace(timeName, '')) : names
  const rows = [heads, ...records.map((record) => names.map((name) => toText(name, record[name])))]
  const widths = fit(
    names.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length))),
    isNarrow ? process.stdout.columns : Number.POSITIVE_INFINITY,
  )
  const toLine = (row: readonly string[]): string =>
    widths.map((width, column) => cut(row[column] ?? '', width).padEnd(width)).join('  ')
  const shown = new Set(names.slice(0, widths.length))
  const left = all.filter((name) => !shown.has(name))
  const words =
    wide === undefined
      ? `--json prints ${left.join(', ')}, too`
      : cut(`--wide shows ${left.length} more: ${left.join(', ')}`, process.stdout.columns - 2)
  const note = left.length === 0 ? '' : `(${words})\n`
  return rows.map((row) => `${toLine(row).trimEnd()}\n`).join('') + note
}

/** Whether a field is an instant, which is told from its name, since texts of others may look like one. */
function isTime(name: string, value: unknown): value is string {
  return timeName.test(name) && typeof value === 'string' && !Number.isNaN(Date.parse(value))
}

/** `3h ago`, `in 29d`. */
function describeAge(ms: number): string {
  const seconds = (ms - Date.now()) / 1000
  const [unit, length] = steps.findLast(([, least]) => Math.abs(seconds) >= least) ?? steps[0]
  return ages.format(Math.trunc(seconds / length), unit)
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

/** Ids differ at their ends: they begin with the time. */
function cut(cell: string, width: number): string {
  if (cell.length <= width) return cell
  return isId.test(cell) ? `…${cell.slice(1 - width)}` : `${cell.slice(0, width - 1)}…`
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
