// What an account may do, and the changes that an operator makes to it. Pure: the stores write what this says.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Act, AuditDraft } from './audit.ts'

/** A frozen account starts nothing and gets no keys. A closed one does so for ever, and has no keys and no jobs that have not ended. */
export type AccountStatus = 'active' | 'frozen' | 'closed'

/** The status of an account, and why and when an operator gave it that. */
export interface StatusRecord {
  readonly status: AccountStatus
  readonly statusReason: string | null
  readonly statusChangedAtMs: number | null
}

export const newlyActive: StatusRecord = { status: 'active', statusReason: null, statusChangedAtMs: null }

/** A new name, or a new status. The reason is null only for `active`. */
export type AccountChange = { readonly name: string } | Pick<StatusRecord, 'status' | 'statusReason'>

/** What decides a change. */
export interface ChangedAccount extends Pick<StatusRecord, 'status' | 'statusReason'> {
  readonly accountId: string
  readonly name: string
  readonly available: number
  /** Jobs that have not ended or are under review. */
  readonly openJobs: number
}

export type AccountChangeDecision =
  /** It is so already. */
  | { readonly outcome: 'unchanged' }
  /** A closed account stays as it is. */
  | { readonly outcome: 'closed' }
  | { readonly outcome: 'busy'; readonly openJobs: number }
  | { readonly outcome: 'changed'; readonly audit: AuditDraft }

const acts = {
  active: 'account.unfrozen',
  frozen: 'account.frozen',
  closed: 'account.closed',
} as const satisfies Record<AccountStatus, Act>

/** Decides a change of an account. */
export function decideAccountChange(account: ChangedAccount, change: AccountChange): AccountChangeDecision {
  const { accountId, name, status, statusReason, available, openJobs } = account
  const changed = (act: Act, before: JsonObject, after: JsonObject): AccountChangeDecision => ({
    outcome: 'changed',
    audit: { act, subject: accountId, accountId, before, after },
  })
  const closes = 'status' in change && change.status === 'closed'
  if (status === 'closed') return { outcome: closes ? 'unchanged' : 'closed' }
  if ('name' in change)
    return change.name === name ? { outcome: 'unchanged' } : changed('account.renamed', { name }, { name: change.name })
  const isSame = change.status === status && (status === 'active' || change.statusReason === statusReason)
  if (isSame) return { outcome: 'unchanged' }
  if (closes && openJobs > 0) return { outcome: 'busy', openJobs }
  return changed(
    acts[change.status],
    { status, reason: statusReason },
    { status: change.status, reason: change.statusReason, ...(closes && { available }) },
  )
}
