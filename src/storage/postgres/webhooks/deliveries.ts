// The webhook outbox: claims due deliveries, and records the outcome of attempts. Triggers on jobs fill it.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { type Actor, systemActor } from '../../../core/accounts/audit.ts'
import { readPreviousSecrets } from '../../../core/accounts/webhook-secrets.ts'
import {
  createRoom,
  keptAttempts,
  keptDeliveryMs,
  probation,
  type ClaimedDelivery,
  type Delivery,
  type DeliveryAttempt,
  type DeliveryClaim,
  type DeliveryFilter,
  type DeliveryReport,
  type Endpoint,
  type DeliveryOwner,
  type RedeliverOutcome,
  owns,
} from '../../../core/accounts/webhook.ts'
import type { Page } from '../../../core/page.ts'
import { jobColumns, type JobRow, toJob } from '../../job-rows.ts'
import {
  deliveryColumns,
  type DeliveryRow,
  deliveryTables,
  notDelivered,
  toDelivery,
  whichDeliveries,
} from '../../rows.ts'
import { record } from '../accounts/audit.ts'
import type { Database, Transaction } from '../connection.ts'
import { countOf, readPage } from '../pages.ts'
import type { Writing } from '../writing.ts'

const goneError = 'The endpoint answered 410 Gone, so it was disabled.'

/** Gives up the pending deliveries of an endpoint that is locked. Even if the clock went back, none finishes before it was created. */
export async function giveUp(tx: Writing, webhookId: string, error: string): Promise<void> {
  tx.send(
    `UPDATE webhook_deliveries SET status = 'failed', due_at = NULL, claimed_as = NULL, finished_at = greatest(:now, created_at), error = :error
     WHERE webhook_id = :webhookId AND status = 'pending'`,
    { now: await tx.nowMs(), webhookId, error },
  )
}

// At most as many per account as it has slots, so an account with many endpoints does not fill the list.
const dueWebhooks = `SELECT d.webhook_id AS webhookId, d.account_id AS accountId FROM (
    SELECT webhook_id, account_id, claimed_at, next_due_at,
      row_number() OVER (PARTITION BY account_id ORDER BY claimed_at, next_due_at) AS turn FROM webhooks
    WHERE (standing > 0) = :proven AND next_due_at <= :now AND webhook_id <> ALL(:webhooks::text[]) AND account_id <> ALL(:accounts::text[])
  ) AS d LEFT JOIN webhook_turns AS t ON t.account_id = d.account_id
  WHERE turn <= :perAccount ORDER BY turn, coalesce(t.claimed_at, 0), d.claimed_at, next_due_at LIMIT :limit`

type ClaimRow = Omit<ClaimedDelivery, 'secrets' | 'job' | 'trace' | 'input' | 'proven'> & {
  secret: Buffer
  previousSecrets: string | null
  number: number
  dueAt: number
  includeInput: number
  jobNumber: number
  jobThen: string | null
}

/** Claims due deliveries. Senders take turns, so that the slots of endpoints and accounts hold for all of them. */
export async function claimDeliveries(tx: Writing, claim: DeliveryClaim): Promise<readonly ClaimedDelivery[]> {
  const { limit, unprovenHere, leaseMs, ...caps } = claim
  const locked = tx.rows("SELECT pg_advisory_xact_lock(hashtextextended('mediagen deliveries', 0))")
  const [now] = await Promise.all([tx.nowMs(), locked])
  const room = createRoom(caps, await findUnderWay(tx), unprovenHere)
  const claimed: ClaimedDelivery[] = []

  async function claimFrom(proven: boolean, perAccount: number, except: readonly string[]): Promise<void> {
    const left = limit - claimed.length
    if (left <= 0) return
    const { webhookIds: webhooks, accountIds } = room.full()
    const due = await tx.rows<Omit<Endpoint, 'proven'>>(dueWebhooks, {
      proven,
      now,
      webhooks,
      accounts: [...accountIds, ...except],
      perAccount,
      // An account with running attempts is skipped once it has filled its other slots.
      limit: left * perAccount,
    })
    for (const found of due) {
      const endpoint = { ...found, proven }
      const slots = Math.min(room.of(endpoint), limit - claimed.length)
      if (slots <= 0) continue
      const taken = await claimOf(tx, endpoint, slots, leaseMs, now)
      for (const _ of taken) room.take(endpoint)
      claimed.push(...taken)
    }
  }

  // First the unproven ones, within their part of the slots, so an endpoint can prove itself however busy the others are.
  const { unprovenAccountIds } = room.full()
  if (unprovenAccountIds) await claimFrom(false, caps.unproven.perAccount, unprovenAccountIds)
  await claimFrom(true, caps.perAccount, [])
  return claimed
}

async function claimOf(
  tx: Writing,
  { webhookId, accountId, proven }: Endpoint,
  slots: number,
  leaseMs: number,
  now: number,
): Promise<ClaimedDelivery[]> {
  // The endpoint is locked before its deliveries, as everywhere; one that is locked just now has its turn later.
  const locked = await tx.row('SELECT 1 FROM webhooks WHERE webhook_id = :webhookId FOR NO KEY UPDATE SKIP LOCKED', {
    webhookId,
  })
  if (locked === undefined) return []
  const rows = await tx.rows<ClaimRow>(
    `UPDATE webhook_deliveries AS d SET due_at = :now::bigint + :leaseMs::bigint, waits_since = :now::bigint, claimed_as = :claimedAs,
       token = d.token + 1, attempt = d.attempt + 1
     FROM webhooks AS w, (SELECT number, due_at FROM webhook_deliveries
       WHERE webhook_id = :webhookId AND status = 'pending' AND due_at <= :now::bigint ORDER BY due_at, number LIMIT :slots) AS due
     WHERE w.webhook_id = d.webhook_id AND w.secret IS NOT NULL AND d.number = due.number
     RETURNING due.due_at AS dueAt, d.number, d.delivery_id AS deliveryId, d.webhook_id AS webhookId,
       coalesce(nullif(w.url, ''), (SELECT webhook_url FROM jobs AS j WHERE j.number = d.job_number)) AS url, w.secret, w.previous_secrets AS previousSecrets, w.include_input AS includeInput, d.event,
       d.job_number AS jobNumber, d.job_then AS jobThen, d.created_at AS createdAtMs, d.attempt, d.token`,
    { webhookId, now, leaseMs, slots, claimedAs: proven ? 'proven' : 'unproven' },
  )
  if (rows.length === 0) return []
  tx.send('UPDATE webhooks SET claimed_at = :now WHERE webhook_id = :webhookId', { webhookId, now })
  tx.send(
    'INSERT INTO webhook_turns (account_id, claimed_at) VALUES (:accountId, :now) ON CONFLICT (account_id) DO UPDATE SET claimed_at = excluded.claimed_at',
    { accountId, now },
  )
  const jobs = await tx.rows<JobRow & { number: number; trace: string | null; input: string | null }>(
    `SELECT ${jobColumns}, number, trace, (SELECT coalesce(brief, input) FROM job_inputs AS i WHERE i.number = jobs.number) AS input
     FROM jobs WHERE number = ANY(:numbers)`,
    { numbers: rows.map(({ jobNumber }) => jobNumber) },
  )
  const byNumber = new Map(jobs.map((job) => [job.number, job]))
  return rows.toSorted(byDue).flatMap(({ includeInput, jobNumber, jobThen, secret, previousSecrets, ...row }) => {
    const job = byNumber.get(jobNumber)
    if (job === undefined) return []
    const input = includeInput === 1 && job.input !== null ? (JSON.parse(job.input) as JsonObject) : null
    const then = jobThen === null ? {} : (JSON.parse(jobThen) as Partial<ClaimedDelivery['job']>)
    const { dueAt: _, number: __, ...delivery } = row
    const secrets = [secret, ...readPreviousSecrets(previousSecrets, now)]
    return [{ ...delivery, secrets, proven, input, trace: job.trace, job: { ...toJob(job), ...then } }]
  })
}

function byDue(a: ClaimRow, b: ClaimRow): number {
  return a.dueAt - b.dueAt || a.number - b.number
}

export async function reportDelivery(tx: Writing, report: DeliveryReport): Promise<boolean> {
  const { deliveryId, token, attempt, next, prompt, gone } = report
  const [endpoint, found] = await Promise.all([
    tx.row<{ url: string }>(
      `SELECT url FROM webhooks WHERE webhook_id = (SELECT webhook_id FROM webhook_deliveries WHERE delivery_id = :deliveryId) FOR NO KEY UPDATE`,
      { deliveryId },
    ),
    tx.row<{ number: number; webhookId: string; attempts: string }>(
      `SELECT number, webhook_id AS webhookId, attempts FROM webhook_deliveries
       WHERE delivery_id = :deliveryId AND token = :token AND status = 'pending' FOR NO KEY UPDATE`,
      { deliveryId, token },
    ),
  ])
  if (found === undefined) return false
  const now = await tx.nowMs()
  const { number, webhookId } = found
  // That the URL of one start is gone says nothing about those of others.
  const isDisabled = gone && endpoint?.url !== ''
  const dueAt = next.status === 'pending' ? now + next.waitMs : null
  if (attempt === null) {
    tx.send(
      'UPDATE webhook_deliveries SET due_at = :dueAt, waits_since = :now, claimed_as = NULL, attempt = attempt - 1 WHERE number = :number',
      { dueAt, now, number },
    )
    return true
  }
  const latest: DeliveryAttempt = { attemptedAtMs: now - attempt.durationMs, ...attempt }
  const attempts = [...(JSON.parse(found.attempts) as DeliveryAttempt[]), latest].slice(-keptAttempts)
  tx.send(
    `UPDATE webhook_deliveries SET status = :status, due_at = :dueAt, waits_since = :now, claimed_as = NULL,
       finished_at = CASE WHEN :ended::boolean THEN greatest(:now, created_at) END, attempts = :attempts, error = :error WHERE number = :number`,
    {
      number,
      status: next.status,
      dueAt,
      now,
      ended: next.status !== 'pending',
      attempts: JSON.stringify(attempts),
      error: attempt.error,
    },
  )
  // A prompt attempt adds 1, up to 1; a slow one starts the probation again.
  tx.send(
    `UPDATE webhooks SET standing = CASE WHEN :prompt::boolean THEN least(1, standing + 1) ELSE ${-probation} END,
       disabled_at = CASE WHEN :gone::boolean THEN coalesce(disabled_at, :now) WHEN :delivered::boolean THEN NULL ELSE disabled_at END
     WHERE webhook_id = :webhookId`,
    { webhookId, prompt, gone: isDisabled, delivered: next.status === 'delivered', now },
  )
  if (isDisabled) await giveUp(tx, webhookId, goneError)
  return true
}

export async function redeliver(
  tx: Writing,
  deliveryId: string,
  by: Actor = systemActor,
  owner?: DeliveryOwner,
): Promise<RedeliverOutcome> {
  const found = await tx.row<{ deletedAtMs: number | null; accountId: string; webhookId: string }>(
    `SELECT deleted_at AS deletedAtMs, account_id AS accountId, webhook_id AS webhookId FROM webhooks
     WHERE webhook_id = (SELECT webhook_id FROM webhook_deliveries WHERE delivery_id = :deliveryId) FOR NO KEY UPDATE`,
    { deliveryId },
  )
  if (found === undefined || !owns(owner, found)) return { outcome: 'no_delivery' }
  if (found.deletedAtMs !== null) return { outcome: 'no_webhook' }
  const select = `SELECT ${deliveryColumns} FROM ${deliveryTables} WHERE d.delivery_id = :deliveryId`
  const before = tx.row<DeliveryRow>(select, { deliveryId })
  const now = await tx.nowMs()
  tx.send(
    `UPDATE webhook_deliveries SET status = 'pending', due_at = :now, waits_since = :now, claimed_as = NULL, finished_at = NULL, attempt = 0,
       token = token + 1 WHERE delivery_id = :deliveryId`,
    { now, deliveryId },
  )
  const after = tx.row<DeliveryRow>(select, { deliveryId })
  const [was, row] = await Promise.all([before, after])
  if (row === undefined || was === undefined) throw new Error(`delivery ${deliveryId} vanished`)
  const [status, renewed] = [{ status: was.status }, { status: row.status }]
  const draft = { act: 'delivery.renewed', subject: deliveryId, accountId: row.accountId } as const
  await record(tx, { ...draft, before: status, after: renewed }, by)
  return { outcome: 'done', delivery: toDelivery(row) }
}

const rebased = "webhook_deliveries WHERE status = 'pending' AND waits_since > :now"
const forgotten = "webhook_deliveries WHERE status <> 'pending' AND finished_at <= :now::bigint - :keptDeliveryMs"
const dropped = 'webhooks WHERE deleted_at IS NOT NULL AND delivery_count = 0'

/** What the sweep of deliveries looks for. */
export const deliveriesToSweep = [rebased, forgotten, dropped]

/** Restarts waits from before the clock went back, removes old finished deliveries, then the deleted endpoints that have none left. */
export async function sweepDeliveries(
  tx: Writing,
  limit: number,
): Promise<{ rebased: number; forgotten: number; dropped: number }> {
  const values = { now: await tx.nowMs(), limit, keptDeliveryMs }
  return {
    rebased: await tx.change(
      `UPDATE webhook_deliveries SET due_at = :now::bigint + due_at - waits_since, waits_since = :now
       WHERE number IN (SELECT number FROM ${rebased} LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED)`,
      values,
    ),
    forgotten: await tx.change(
      `DELETE FROM webhook_deliveries WHERE number IN (SELECT number FROM ${forgotten} ORDER BY finished_at LIMIT :limit FOR UPDATE SKIP LOCKED)`,
      values,
    ),
    dropped: await tx.change(
      `DELETE FROM webhooks WHERE webhook_id IN (SELECT webhook_id FROM ${dropped} LIMIT :limit FOR UPDATE SKIP LOCKED)`,
      values,
    ),
  }
}

/** The endpoints of all attempts under way, whichever process makes them. */
function findUnderWay(db: Pick<Transaction, 'rows'>): Promise<Endpoint[]> {
  return db.rows<Endpoint>(
    `SELECT d.webhook_id AS webhookId, w.account_id AS accountId, d.claimed_as = 'proven' AS proven
     FROM webhook_deliveries AS d JOIN webhooks AS w ON w.webhook_id = d.webhook_id
     WHERE d.claimed_as IS NOT NULL AND d.due_at > now_ms(:held)`,
  )
}

const listing = { columns: deliveryColumns, from: deliveryTables, order: 'd.number' }
const counted = 'webhook_deliveries AS d JOIN webhooks AS w ON w.webhook_id = d.webhook_id'

export function createDeliveryReads(db: Database) {
  async function isDue(proven: boolean, webhooks: readonly string[], accounts: readonly string[]): Promise<boolean> {
    const row = await db.row(
      `SELECT 1 FROM webhooks WHERE (standing > 0) = :proven AND next_due_at <= now_ms(:held)
       AND webhook_id <> ALL(:webhooks::text[]) AND account_id <> ALL(:accounts::text[]) LIMIT 1`,
      { proven, webhooks, accounts },
    )
    return row !== undefined
  }
  return {
    async hasDueDelivery({ unprovenHere, ...caps }: DeliveryClaim): Promise<boolean> {
      const { webhookIds, accountIds, unprovenAccountIds } = createRoom(
        caps,
        await findUnderWay(db),
        unprovenHere,
      ).full()
      if (await isDue(true, webhookIds, accountIds)) return true
      return unprovenAccountIds !== null && isDue(false, webhookIds, [...accountIds, ...unprovenAccountIds])
    },
    async listDeliveries(filter: DeliveryFilter): Promise<Page<Delivery>> {
      const { jobId, status } = filter
      const { owner, ofJob, ofStatus } = whichDeliveries(filter)
      const all = `(SELECT coalesce(sum(w.delivery_count), 0) FROM webhooks AS w ${owner.length === 0 ? '' : `WHERE ${owner.join(' AND ')}`})`

      /** Exact, and without reading the delivered ones of an endpoint, which are many. */
      function count(): string {
        if (jobId !== null || (status !== null && status !== 'delivered'))
          return countOf(counted, [...owner, ...ofJob, ...ofStatus])
        return `SELECT ${status === null ? all : `${all} - (${countOf(counted, [...owner, notDelivered])})`}`
      }
      const where = [...owner, ...ofJob, ...ofStatus]
      const { items, total } = await readPage<DeliveryRow>(db, listing, where, filter, filter, count())
      return { items: items.map(toDelivery), total }
    },
  }
}
