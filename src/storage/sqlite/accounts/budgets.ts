// The limits that apply to starts with a key, and what counts against them.
import type { Budget } from '../../../core/accounts/limits.ts'
import {
  countedOwners,
  type LimitsRow,
  selectLimits,
  selectSpending,
  Spending,
  type SpendingRow,
  spendingSince,
} from '../../budgets.ts'
import type { Connection } from '../connection.ts'

export function createBudgetReads(db: Connection) {
  const findLimits = db.prepare<{ accountId: string; keyId: string }, LimitsRow>(
    selectLimits('(SELECT :accountId AS account_id, :keyId AS key_id)'),
  )
  const findSpending = db.prepare<{ owner: string; since: string }, SpendingRow>(selectSpending('= :owner'))

  /** Reads the limits of a start, and what counts against them unless `spending` knows it. */
  function load(spending: Spending, accountId: string, keyId: string, nowMs: number): LimitsRow | undefined {
    const known = spending.find(accountId, keyId)
    if (known !== undefined) return known
    const row = findLimits.get({ accountId, keyId })
    if (row === undefined) return undefined
    spending.keep(row)
    for (const owner of countedOwners([row]))
      if (!spending.has(owner)) spending.add([owner], findSpending.all({ owner, since: spendingSince(nowMs) }))
    return row
  }

  return {
    load,
    read(accountId: string, keyId: string, nowMs: number): readonly Budget[] {
      const spending = new Spending()
      const row = load(spending, accountId, keyId, nowMs)
      return row ? spending.budgets(row) : []
    },
  }
}
