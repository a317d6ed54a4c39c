// Tables as CSV (RFC 4180).

/** The text of a table whose first row has the names of the columns. */
export function toCsv(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => `${row.map(toCell).join(',')}\r\n`).join('')
}

// A spreadsheet takes a text for a formula that begins with one of these, but not after an apostrophe.
const formula = /^[=+\-@\t\r\n]/

function toCell(value: string | number): string {
  if (typeof value === 'number') return String(value)
  const text = formula.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
