// Rows of everything but jobs as every engine of storage selects them, and the records that they make.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Actor, AuditEntry, AuditFilter } from '../core/accounts/audit.ts'
import type { ApiKey, NewKey, Permission, PersonFacts } from '../core/accounts/key.ts'
import { describeLimits, parseLimits } from '../core/accounts/limits.ts'
import type { Delivery, DeliveryAttempt, DeliveryFilter, Webhook } from '../core/accounts/webhook.ts'
import { toTimestampText } from '../core/clock.ts'
import type { Posting } from '../core/credits/ledger.ts'
import type { Account } from '../core/store.ts'
import { parseObject } from './job-rows.ts'

export const accountColumns = `account_id AS accountId, name, available, held, created_at AS createdAtMs, limits,
  status, status_reason AS statusReason, status_changed_at AS statusChangedAtMs`

export interface AccountRow extends Omit<Account, 'limits'> {
  readonly limits: string | null
}

export function toAccount(row: AccountRow): Account {
  return { ...row, limits: parseLimits(row.limits) }
}

/** The account fields that commands need. */
export interface AccountState extends AccountRow {
  readonly entryCount: number
  readonly jobCount: number
  readonly queuedJobs: number
  /** The hash of its last entry. */
  readonly ledgerHead: string | null
}

export const accountStateColumns = `${accountColumns}, entry_count AS entryCount, job_count AS jobCount, queued_jobs AS queuedJobs,
  ledger_head AS ledgerHead`

/** Counts the jobs of an account that have not ended or are under review; the last condition is that of the index. */
export const countOpenJobs = `SELECT count(*) AS count FROM jobs
  WHERE account_id = :accountId AND status IN ('queued', 'running', 'needs_review') AND status <> 'succeeded'`

/** The account after a posting. */
export function toPosted(state: AccountState, posting?: Posting): Account {
  const { accountId, name, createdAtMs, limits, status, statusReason, statusChangedAtMs } = state
  const { available, held } = posting?.after ?? state
  const shown = { accountId, name, available, held, createdAtMs, limits, status, statusReason, statusChangedAtMs }
  return toAccount(shown)
}

const ofJob = (column: string): string =>
  `coalesce((SELECT ${column} FROM jobs AS j WHERE j.number = ledger_entries.job_number),
    (SELECT ${column} FROM forgotten_jobs AS f WHERE f.number = ledger_entries.job_number))`

export const entryColumns = `entry_id AS entryId, account_id AS accountId, kind, credits, available_after AS availableAfter, held_after AS heldAfter,
  note, created_at AS createdAtMs, hash,
  (SELECT p.hash FROM ledger_entries AS p WHERE p.account_id = ledger_entries.account_id AND p.number = ledger_entries.number - 1) AS previousHash,
  CASE WHEN kind = 'grant' THEN (
    SELECT reference FROM grant_references AS g WHERE g.account_id = ledger_entries.account_id AND g.number = ledger_entries.number
  ) END AS reference, ${ofJob('job_id')} AS jobId, ${ofJob('key_id')} AS keyId,
  (SELECT name FROM api_keys AS k WHERE k.key_id = ${ofJob('key_id')}) AS keyName`

export interface KeyRow extends Omit<
  ApiKey,
  'permissions' | 'limits' | 'makerLimits' | 'makerPerson' | 'accountLimits'
> {
  readonly permissions: string
  readonly limits: string | null
  readonly makerLimits: string | null
  readonly makerPermissions: string | null
  /** Null unless the maker is a person. */
  readonly makerIssuer: string | null
  readonly makerFacts: string | null
  readonly accountLimits: string | null
}

export const keyColumns = `key_id AS keyId, account_id AS accountId, name, prefix, permissions, created_at AS createdAtMs,
  expires_at AS expiresAtMs, revoked_at AS revokedAtMs, last_used_at AS lastUsedAtMs, limits, maker_id AS makerId,
  (SELECT m.limits FROM api_keys AS m WHERE m.key_id = api_keys.maker_id) AS makerLimits,
  (SELECT m.permissions FROM api_keys AS m WHERE m.key_id = api_keys.maker_id) AS makerPermissions,
  (SELECT p.issuer FROM people AS p WHERE p.key_id = api_keys.maker_id) AS makerIssuer,
  (SELECT p.facts FROM people AS p WHERE p.key_id = api_keys.maker_id) AS makerFacts,
  (SELECT a.limits FROM accounts AS a WHERE a.account_id = api_keys.account_id) AS accountLimits,
  (SELECT a.status FROM accounts AS a WHERE a.account_id = api_keys.account_id) AS accountStatus`

/** The key of a row, if there is one. */
export function toKey(row: KeyRow | undefined): ApiKey | null {
  if (row === undefined) return null
  const { makerPermissions, makerIssuer, makerFacts, ...facts } = row
  const own = JSON.parse(row.permissions) as Permission[]
  // A person may have less now than when the key was made.
  const most = makerPermissions === null ? own : (JSON.parse(makerPermissions) as Permission[])
  return {
    ...facts,
    permissions: own.filter((permission) => most.includes(permission)),
    limits: parseLimits(row.limits),
    makerLimits: parseLimits(row.makerLimits),
    makerPerson: makerIssuer === null ? null : { issuer: makerIssuer, ...parseFacts(makerFacts) },
    accountLimits: parseLimits(row.accountLimits),
  }
}

/** What is unknown since a sign-in of an older version is nothing that a rule could name. */
function parseFacts(facts: string | null): PersonFacts {
  return facts === null ? { email: null, groups: [] } : (JSON.parse(facts) as PersonFacts)
}

/** What the audit keeps of a new key. */
export function describeNewKey({
  name,
  permissions,
  expiresAtMs,
  limits,
  makerId,
}: Omit<NewKey, 'secretHash'>): JsonObject {
  const described = describeLimits(limits)
  return {
    ...(name !== null && { name }),
    permissions: [...permissions],
    expires_at: toTime(expiresAtMs),
    ...(described !== null && { limits: described }),
    ...(makerId !== null && { made_by: makerId }),
  }
}

export function toTime(ms: number | null): string | null {
  return ms === null ? null : toTimestampText(ms)
}

/** The conditions of a list of acts, and their values. */
export function whichActs(
  accountId: string | null,
  { actor = null, act = null, subject = null, sinceMs = null, untilMs = null }: AuditFilter = {},
) {
  const isServer = actor === 'server'
  const where = [
    ...(accountId === null ? [] : ['account_id = :accountId']),
    ...(actor === null ? [] : [isServer ? "actor = 'system'" : '(key_id = :actor OR os_user = :actor)']),
    ...(act === null ? [] : [act.includes('.') ? 'act = :act' : "act LIKE :act || '.%'"]),
    ...(subject === null ? [] : ['subject = :subject']),
    ...(sinceMs === null ? [] : ['created_at >= :sinceMs']),
    ...(untilMs === null ? [] : ['created_at < :untilMs']),
  ]
  return { where, values: { accountId, actor, act, subject, sinceMs, untilMs } }
}

export interface AuditRow extends Omit<AuditEntry, 'actor' | 'before' | 'after'> {
  readonly actor: Actor['kind']
  readonly keyId: string | null
  readonly keyAccountId: string | null
  readonly osUser: string | null
  readonly before: string | null
  readonly after: string | null
}

export const auditColumns = `entry_id AS entryId, actor, key_id AS keyId, os_user AS osUser, act, subject, account_id AS accountId, before, after,
  created_at AS createdAtMs, (SELECT account_id FROM api_keys AS k WHERE k.key_id = audit_entries.key_id) AS keyAccountId`

export function toAuditEntry({ actor, keyId, keyAccountId, osUser, before, after, ...row }: AuditRow): AuditEntry {
  const by = toActor(actor, keyId, keyAccountId, osUser)
  return { ...row, actor: by, before: parseObject(before), after: parseObject(after) }
}

function toActor(kind: Actor['kind'], keyId: string | null, accountId: string | null, osUser: string | null): Actor {
  if (kind === 'key') return { kind, keyId: keyId ?? '', accountId: accountId ?? '' }
  return kind === 'command_line' ? { kind, osUser: osUser ?? '' } : { kind }
}

/** The values of an entry that the columns actor to created_at take, in their order. */
export function toAuditValues({ entryId, actor, act, subject, accountId, before, after, createdAtMs }: AuditEntry) {
  return {
    entryId,
    actor: actor.kind,
    keyId: actor.kind === 'key' ? actor.keyId : null,
    osUser: actor.kind === 'command_line' ? actor.osUser : null,
    act,
    subject,
    accountId,
    before: before && JSON.stringify(before),
    after: after && JSON.stringify(after),
    createdAtMs,
  }
}

export interface WebhookRow extends Omit<Webhook, 'includeInput'> {
  readonly includeInput: number
}

export const webhookColumns =
  'webhook_id AS webhookId, account_id AS accountId, url, description, include_input AS includeInput, created_at AS createdAtMs, disabled_at AS disabledAtMs'

export function toWebhook(row: WebhookRow): Webhook {
  return { ...row, includeInput: row.includeInput === 1 }
}

export interface DeliveryRow extends Omit<Delivery, 'attempts'> {
  readonly attempts: string
}

export const deliveryColumns = `d.delivery_id AS deliveryId, d.webhook_id AS webhookId, w.account_id AS accountId, coalesce(nullif(w.url, ''), j.webhook_url) AS url, j.job_id AS jobId, d.event,
  d.status, d.attempts, d.error, d.due_at AS nextAttemptAtMs, d.created_at AS createdAtMs, d.finished_at AS finishedAtMs`
export const deliveryTables =
  'webhook_deliveries AS d JOIN webhooks AS w ON w.webhook_id = d.webhook_id JOIN jobs AS j ON j.number = d.job_number'

export function toDelivery(row: DeliveryRow): Delivery {
  return { ...row, attempts: JSON.parse(row.attempts) as DeliveryAttempt[] }
}

const byStatus = 'd.status = :status'
/** Tells the planner that the partial index contains all of them. */
export const notDelivered = "d.status <> 'delivered'"

/** What the endpoint of starts says about itself. */
export const startWebhookNote = 'The webhook_url of starts.'

/** The conditions of a list of deliveries: whose they are, of which job, in which state. */
export function whichDeliveries({ accountId, webhookId, jobId, status }: DeliveryFilter) {
  return {
    owner: [
      ...(accountId === null ? [] : ['w.account_id = :accountId']),
      ...(webhookId === null ? [] : ['w.webhook_id = :webhookId']),
    ],
    ofJob: jobId === null ? [] : ['d.job_number = (SELECT number FROM jobs WHERE job_id = :jobId)'],
    ofStatus: status === null ? [] : status === 'delivered' ? [byStatus] : [byStatus, notDelivered],
  }
}

export const uploadColumns = `file_id AS fileId, account_id AS accountId, key, content_type AS contentType, bytes, sha256,
  created_at AS createdAtMs, expires_at AS expiresAtMs`
