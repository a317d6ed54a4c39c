// The migrations of this program: numbered SQL files, and whether a database has been made by them.
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { StartupError } from '../core/errors.ts'

/** One step of the schema. */
export interface Migration {
  readonly number: number
  readonly name: string
  readonly sha256: string
  readonly sql: string
  /**
   * Whether programs without this migration work with its schema, beside those that have it: nothing that they read, write or rely
   * on has changed, and what they do not know has a default. Said by the first line of the file, `-- Compatible: why`. Default: no.
   */
  readonly compatible?: boolean
}

/** A step that a database has taken. */
export type AppliedMigration = Pick<Migration, 'number' | 'name' | 'sha256' | 'compatible'>

const fileNamePattern = /^(\d{4})-[a-z0-9-]+\.sql$/

/** Reads the migrations in a folder, in order. */
export function loadMigrations(folder: URL): readonly Migration[] {
  const names = readdirSync(folder).filter((name) => fileNamePattern.test(name))
  return names.sort().map((file) => {
    // Windows line ends do not change a migration.
    const sql = readFileSync(new URL(file, folder), 'utf8').replaceAll('\r\n', '\n')
    return {
      number: Number(file.slice(0, 4)),
      name: file.slice(0, -'.sql'.length),
      sha256: createHash('sha256').update(sql).digest('hex'),
      sql,
      compatible: sql.startsWith('-- Compatible: '),
    }
  })
}

const beforeFirst =
  'by a version before the first one whose databases are upgraded, or by an altered one. It was left as it is. Start the version that made it, or begin with a new database.'

/** The refusal of a database whose list of migrations is not ours. */
export function madeBeforeFirst(database: string): StartupError {
  return new StartupError(`The database ${database} was made ${beforeFirst}`)
}

/**
 * Counts the migrations that a database has. It may have later ones, as long as they are compatible.
 * @param exact whether it may not
 * @throws StartupError when a newer or altered program has made it
 */
export function checkApplied(
  database: string,
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
  exact = false,
): number {
  for (const [index, found] of applied.entries()) {
    const known = migrations[index]
    if (known === undefined && found.compatible && !exact) continue
    if (known === undefined || known.number !== found.number) {
      throw new StartupError(
        `The database ${database} was made by a newer version of mediagen (migration ${found.name} is unknown here); start that version.`,
      )
    }
    if (known.sha256 !== found.sha256)
      throw new StartupError(
        `The database ${database} was made with another text of migration ${found.name}: ${index === 0 ? beforeFirst : 'start the version of mediagen that made it.'}`,
      )
  }
  return applied.length
}
