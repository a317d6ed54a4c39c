// Accounts that an operator renames, freezes, unfreezes or closes, which revokes their keys.
import { type AccountChange, decideAccountChange } from '../../../core/accounts/account-status.ts'
import { type Actor, systemActor } from '../../../core/accounts/audit.ts'
import type { AccountChangeOutcome } from '../../../core/store.ts'
import { accountColumns, type AccountRow, countOpenJobs, toAccount, toPosted } from '../../rows.ts'
import type { Writing } from '../threads/writing.ts'
import { createAccountFinder } from './accounts.ts'
import { createAuditWriter } from './audit.ts'
import { createKeyCommands } from './keys.ts'

export function createAccountChanges(writing: Writing) {
  const { db, nowMs } = writing
  const findAccount = createAccountFinder(db)
  const record = createAuditWriter(writing)
  const { revokeKey } = createKeyCommands(writing)
  const openJobs = db.prepare<{ accountId: string }, number>(countOpenJobs).pluck()
  const liveKey = db
    .prepare<[string], string>('SELECT key_id FROM api_keys WHERE account_id = ? AND revoked_at IS NULL LIMIT 1')
    .pluck()
  const countLive = db
    .prepare<[string], number>('SELECT count(*) FROM api_keys WHERE account_id = ? AND revoked_at IS NULL')
    .pluck()
  const rename = db.prepare<[string, string], AccountRow>(
    `UPDATE accounts SET name = ? WHERE account_id = ? RETURNING ${accountColumns}`,
  )
  const setStatus = db.prepare<[string, string | null, number, string], AccountRow>(
    `UPDATE accounts SET status = ?, status_reason = ?, status_changed_at = ? WHERE account_id = ? RETURNING ${accountColumns}`,
  )

  function revokeAll(accountId: string, by: Actor): number {
    const revoked = countLive.get(accountId) ?? 0
    // Each takes the keys that it made with it.
    for (let keyId = liveKey.get(accountId); keyId !== undefined; keyId = liveKey.get(accountId)) revokeKey(keyId, by)
    return revoked
  }

  return {
    changeAccount(accountId: string, change: AccountChange, by: Actor = systemActor): AccountChangeOutcome {
      const account = findAccount(accountId)
      if (account === null) return { outcome: 'no_account' }
      const decided = decideAccountChange({ ...account, openJobs: openJobs.get({ accountId }) ?? 0 }, change)
      if (decided.outcome === 'unchanged') return { outcome: 'done', account: toPosted(account), revokedKeys: 0 }
      if (decided.outcome !== 'changed') return decided
      const revokedKeys = 'status' in change && change.status === 'closed' ? revokeAll(accountId, by) : 0
      const row =
        'name' in change
          ? rename.get(change.name, accountId)
          : setStatus.get(change.status, change.statusReason, nowMs(), accountId)
      record(decided.audit, by)
      return { outcome: 'done', account: toAccount(row as AccountRow), revokedKeys }
    },
  }
}
