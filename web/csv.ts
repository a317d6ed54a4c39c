// Tables as CSV (RFC 4180), and as files that the browser saves.
import { offerFile } from './save-file.ts'

/** A cell; nothing is an empty one. */
export type Cell = string | number | bigint | boolean | null | undefined

/** The text of a table whose first row has the names of the columns. */
export function toTable(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(quote).join(',')}\r\n`).join('')
}

/** Has the browser save a table; the name gets today's date. */
export function offerTable(name: string, rows: readonly (readonly Cell[])[]): void {
  const day = new Date().toISOString().slice(0, 10)
  offerFile(new Blob([toTable(rows)], { type: 'text/csv' }), `${name}-${day}.csv`)
}

// A spreadsheet takes a text for a formula that begins with one of these, but not after an apostrophe.
const formula = /^(?=[=+\-@\t\r\n])/

function quote(value: Cell): string {
  const text = typeof value === 'string' ? value.replace(formula, "'") : String(value ?? '')
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
