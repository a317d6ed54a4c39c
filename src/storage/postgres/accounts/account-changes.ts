// Accounts that an operator renames, freezes, unfreezes or closes, which revokes their keys.
import { type AccountChange, decideAccountChange } from '../../../core/accounts/account-status.ts'
import { type Actor, systemActor } from '../../../core/accounts/audit.ts'
import type { AccountChangeOutcome } from '../../../core/store.ts'
import { accountColumns, type AccountRow, countOpenJobs, toAccount, toPosted } from '../../rows.ts'
import type { Writing } from '../writing.ts'
import { record } from './audit.ts'
import { revokeKey } from './keys.ts'
import { lockAccounts } from './ledger.ts'

export async function changeAccount(
  tx: Writing,
  accountId: string,
  change: AccountChange,
  by: Actor = systemActor,
): Promise<AccountChangeOutcome> {
  const account = (await lockAccounts(tx, 'account_id = :accountId', { accountId })).get(accountId)
  if (account === undefined) return { outcome: 'no_account' }
  const open = await tx.row<{ count: number }>(countOpenJobs, { accountId })
  const decided = decideAccountChange({ ...account, openJobs: open?.count ?? 0 }, change)
  if (decided.outcome === 'unchanged') return { outcome: 'done', account: toPosted(account), revokedKeys: 0 }
  if (decided.outcome !== 'changed') return decided
  const revokedKeys = 'status' in change && change.status === 'closed' ? await revokeAll(tx, accountId, by) : 0
  const [set, values] =
    'name' in change
      ? ['name = :name', change]
      : [
          'status = :status, status_reason = :statusReason, status_changed_at = :now',
          { ...change, now: await tx.nowMs() },
        ]
  const row = await tx.row<AccountRow>(
    `UPDATE accounts SET ${set} WHERE account_id = :accountId RETURNING ${accountColumns}`,
    { ...values, accountId },
  )
  await record(tx, decided.audit, by)
  return { outcome: 'done', account: toAccount(row as AccountRow), revokedKeys }
}

async function revokeAll(tx: Writing, accountId: string, by: Actor): Promise<number> {
  const live =
    'SELECT key_id AS keyId FROM api_keys WHERE account_id = :accountId AND revoked_at IS NULL ORDER BY key_id'
  const keys = await tx.rows<{ keyId: string }>(live, { accountId })
  // A key that another one takes with it is passed by.
  const isLive = 'SELECT 1 FROM api_keys WHERE key_id = :keyId AND revoked_at IS NULL'
  for (const { keyId } of keys) if (await tx.row(isLive, { keyId })) await revokeKey(tx, keyId, by)
  return keys.length
}
