// Statements that are prepared when they first run: an idle server runs few of its hundred and fifty, and each takes 30 kB.
import type { Database, Statement } from 'better-sqlite3'

/** A connection whose statements have only the methods that late ones have. */
export type LateDatabase = Omit<Database, 'prepare'> & {
  prepare<Values extends unknown[] | {} = unknown[], Row = unknown>(
    sql: string,
  ): Pick<Values extends unknown[] ? Statement<Values, Row> : Statement<[Values], Row>, keyof LateStatement>
}

/** Lets a connection prepare each statement when it first runs. An error in its text is thrown then. */
export function prepareLate(db: LateDatabase): void {
  const prepare = db.prepare.bind(db)
  db.prepare = ((sql: string) => new LateStatement(() => prepare(sql))) as unknown as typeof db.prepare
}

type Prepared = Pick<Statement, keyof LateStatement>

class LateStatement {
  #prepare: () => Prepared
  #prepared: Prepared | null = null

  constructor(prepare: () => Prepared) {
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

  #shape(change: (statement: Prepared) => Prepared): this {
    const prepare = this.#prepare
    this.#prepare = () => change(prepare())
    return this
  }

  #statement(): Prepared {
    this.#prepared ??= this.#prepare()
    return this.#prepared
  }
}
