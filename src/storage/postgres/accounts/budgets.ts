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
import type { Writing } from '../writing.ts'

type Rows = Pick<Writing, 'rows'>

/** Reads the limits of starts, by account and key. */
export function readLimits(
  tx: Rows,
  accountIds: readonly string[],
  keyIds: readonly string[],
): Promise<readonly LimitsRow[]> {
  const pairs = '(SELECT DISTINCT * FROM unnest(:accountIds::text[], :keyIds::text[]) AS u (account_id, key_id))'
  return tx.rows<LimitsRow>(selectLimits(pairs), { accountIds, keyIds })
}

/** Reads what counts against limits; keeps both. */
export async function readSpending(tx: Rows, limits: readonly LimitsRow[], nowMs: number): Promise<Spending> {
  const spending = new Spending()
  for (const row of limits) spending.keep(row)
  const owners = countedOwners(limits)
  if (owners.length === 0) return spending
  const sql = selectSpending('= ANY(:owners)')
  spending.add(owners, await tx.rows<SpendingRow>(sql, { owners, since: spendingSince(nowMs) }))
  return spending
}

export async function readBudgets(
  tx: Rows,
  accountId: string,
  keyId: string,
  nowMs: number,
): Promise<readonly Budget[]> {
  const limits = await readLimits(tx, [accountId], [keyId])
  const spending = await readSpending(tx, limits, nowMs)
  return limits.flatMap((row) => spending.budgets(row))
}
