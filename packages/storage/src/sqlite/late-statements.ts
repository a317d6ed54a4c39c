// Statements that are prepared when they first run: an idle server runs few of its hundred and fifty, and each takes 30 kB.
import type { Database, Statement } from 'better-sqlite3'

/** Lets a connection prepare each statement when it first runs. An error in its text is thrown then. */
export function prepareLate(db: Database): void {
  const prepare = db.prepare.bind(db)
  db.prepare = ((sql: string) => new LateStatement(() => prepare(sql))) as unknown as typeof db.prepare
}

/** As much of a statement as the store uses. */
class LateStatement {
  #prepare: () => Statement
  #prepared: Statement | null = null

  constructor(prepare: () => Statement) {
    this.#prepare = prepare
  }

  pluck(): this {
    return this.#shape((statement) => statement.pluck())
  }

  raw(): this {
    return this.#shape((statement) => statement.raw())
  }

  get(...values: unknown[]): unknown {
    return this.#statement().get(...values)
  }

  all(...values: unknown[]): unknown[] {
    return this.#statement().all(...values)
  }

  run(...values: unknown[]): unknown {
    return this.#statement().run(...values)
  }

  iterate(...values: unknown[]): IterableIterator<unknown> {
    return this.#statement().iterate(...values)
  }

  #shape(change: (statement: Statement) => Statement): this {
    const prepare = this.#prepare
    this.#prepare = () => change(prepare())
    return this
  }

  #statement(): Statement {
    this.#prepared ??= this.#prepare()
    return this.#prepared
  }
}
