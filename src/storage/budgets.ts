// The limits that apply to starts, and what counts against them, as a transaction reads and changes them.
import type { AuditDraft } from '../core/accounts/audit.ts'
import {
  type Budget,
  countsSpending,
  describeLimits,
  type DaySpending,
  type LimitOwner,
  parseLimits,
  withHold,
} from '../core/accounts/limits.ts'

/** Limits of a key, of its maker and of the account, as JSON; null for none. */
export interface LimitsRow {
  readonly accountId: string
  readonly keyId: string
  readonly makerId: string | null
  readonly limits: string | null
  readonly makerLimits: string | null
  readonly accountLimits: string | null
}

/** What was spent on a day: a key or an account by its id. */
export interface SpendingRow extends DaySpending {
  readonly owner: string
}

/** Reads such rows for pairs of an account and a key, `pairs`, which is a table in SQL. A key may be unknown. */
export const selectLimits = (pairs: string): string =>
  `SELECT p.account_id AS accountId, p.key_id AS keyId, k.maker_id AS makerId, k.limits, m.limits AS makerLimits, a.limits AS accountLimits
   FROM ${pairs} AS p JOIN accounts AS a ON a.account_id = p.account_id
   LEFT JOIN api_keys AS k ON k.key_id = p.key_id LEFT JOIN api_keys AS m ON m.key_id = k.maker_id`

/** Reads what was spent in any window that has not ended: all days together, and those of the last month. */
export const selectSpending = (owners: string): string =>
  `SELECT owner, day, held, charged FROM spending WHERE owner ${owners} AND (day = '' OR day >= :since)`

/** No window that has not ended began before this day. */
export function spendingSince(nowMs: number): string {
  const longestWindowMs = 33 * 86_400_000
  return new Date(nowMs - longestWindowMs).toISOString().slice(0, 10)
}

/** The limits before and after a change, for the audit. */
export function limitsAudit(before: string | null, after: string | null): Pick<AuditDraft, 'before' | 'after'> {
  return {
    before: { limits: describeLimits(parseLimits(before)) },
    after: { limits: describeLimits(parseLimits(after)) },
  }
}

/** The limits in a row, those that say something, with their owners. */
export function ownersOf(row: LimitsRow): (Omit<Budget, 'spent'> & { readonly owner: string })[] {
  const all: [LimitOwner, string | null, string | null][] = [
    ['key', row.keyId, row.limits],
    ['maker', row.makerId, row.makerLimits],
    ['account', row.accountId, row.accountLimits],
  ]
  return all.flatMap(([of, owner, text]) =>
    owner === null || text === null ? [] : [{ of, owner, limits: parseLimits(text) }],
  )
}

/** The keys and accounts of rows whose spending has to be read. */
export function countedOwners(rows: readonly LimitsRow[]): string[] {
  const counted = rows.flatMap((row) => ownersOf(row).filter(({ limits }) => countsSpending(limits)))
  return [...new Set(counted.map(({ owner }) => owner))]
}

/** Spending as the starts of one transaction change it. */
export class Spending {
  readonly #days = new Map<string, readonly DaySpending[]>()
  readonly #limits = new Map<string, LimitsRow>()
  readonly #owners = new Map<LimitsRow, ReturnType<typeof ownersOf>>()

  /** Limits that were kept: those that the transaction has read. */
  find(accountId: string, keyId: string): LimitsRow | undefined {
    return this.#limits.get(`${accountId} ${keyId}`)
  }

  keep(row: LimitsRow): void {
    this.#limits.set(`${row.accountId} ${row.keyId}`, row)
  }

  /** Adds the rows of owners that were read. */
  add(owners: readonly string[], rows: readonly SpendingRow[]): void {
    for (const owner of owners)
      this.#days.set(
        owner,
        rows.filter((row) => row.owner === owner),
      )
  }

  has(owner: string): boolean {
    return this.#days.has(owner)
  }

  budgets(row: LimitsRow): Budget[] {
    let owners = this.#owners.get(row)
    if (owners === undefined) this.#owners.set(row, (owners = ownersOf(row)))
    return owners.map(({ of, owner, limits }) => ({ of, limits, spent: this.#days.get(owner) ?? [] }))
  }

  /** Counts what a start of this day holds; the database does the same. */
  hold({ keyId, makerId, accountId }: LimitsRow, day: string, credits: number): void {
    for (const owner of [keyId, makerId, accountId]) {
      const days = owner === null ? undefined : this.#days.get(owner)
      if (owner !== null && days !== undefined) this.#days.set(owner, withHold(days, day, credits))
    }
  }
}
