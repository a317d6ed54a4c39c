// Statements as this store writes them: values by name, and names of columns in the spelling of the program.

/** The values of a statement, by name. */
export type Values = Readonly<Record<string, unknown>>

interface Statement {
  readonly text: string
  readonly names: readonly string[]
}

// Statements are constant but for the conditions of lists, of which there are few.
const known = new Map<string, Statement>()

/** The statement and its values as the driver takes them. */
export function compileSql(sql: string, values: Values = {}): { text: string; list: unknown[] } {
  let statement = known.get(sql)
  if (statement === undefined) known.set(sql, (statement = compile(sql)))
  return { text: statement.text, list: statement.names.map((name) => toValue(values[name])) }
}

function compile(sql: string): Statement {
  const names: string[] = []
  const text = sql
    // PostgreSQL folds names that are not quoted.
    .replaceAll(/\bAS ([a-z]+[A-Z]\w*)/g, 'AS "$1"')
    .replaceAll(/(?<!:):([a-z]\w*)/gi, (_, name: string) => {
      if (!names.includes(name)) names.push(name)
      return `$${names.indexOf(name) + 1}`
    })
  return { text, names }
}

/** PostgreSQL's texts cannot have the character 0: it becomes the one that stands for unknown ones. */
export function toStoredText(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text
}

function toValue(value: unknown): unknown {
  if (typeof value === 'string') return toStoredText(value)
  if (Array.isArray(value)) return value.map(toValue)
  return value instanceof Uint8Array && !Buffer.isBuffer(value) ? Buffer.from(value) : value
}
