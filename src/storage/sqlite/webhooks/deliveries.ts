// The webhook outbox: claims due deliveries, and records the outcome of attempts. Triggers on jobs fill it.
import { type Actor, systemActor } from '../../../core/accounts/audit.ts'
import { readPreviousSecrets } from '../../../core/accounts/webhook-secrets.ts'
import {
  createRoom,
  owns,
  keptAttempts,
  keptDeliveryMs,
  probation,
  type ClaimedDelivery,
  type Delivery,
  type DeliveryAttempt,
  type DeliveryClaim,
  type DeliveryFilter,
  type DeliveryOwner,
  type DeliveryReport,
  type Endpoint,
  type RedeliverOutcome,
} from '../../../core/accounts/webhook.ts'
import type { Page } from '../../../core/page.ts'
import { jobColumns, parseObject, toJob, type JobRow } from '../../job-rows.ts'
import {
  deliveryColumns,
  type DeliveryRow,
  deliveryTables,
  notDelivered,
  toDelivery,
  whichDeliveries,
} from '../../rows.ts'
import { createAuditWriter } from '../accounts/audit.ts'
import type { Connection } from '../connection.ts'
import { createPages } from '../pages.ts'
import type { Writing } from '../threads/writing.ts'

/** A claimed delivery in the form that crosses threads, where a Buffer becomes a plain Uint8Array. */
interface ClaimedDeliveryRow extends Omit<ClaimedDelivery, 'secrets' | 'input'> {
  readonly secrets: readonly Uint8Array[]
  /** JSON */
  readonly input: string | null
}

const goneError = 'The endpoint answered 410 Gone, so it was disabled.'
const urlOfDelivery = `(SELECT coalesce(nullif(w.url, ''), j.webhook_url) FROM webhooks AS w, jobs AS j
  WHERE w.webhook_id = webhook_deliveries.webhook_id AND j.number = webhook_deliveries.job_number)`

/** Creates a function that gives up the pending deliveries of an endpoint. Even if the clock went back, none finishes before it was created. */
export function createGiveUp({ db, nowMs }: Writing): (webhookId: string, error: string) => void {
  const giveUp = db.prepare<[number, string, string]>(
    "UPDATE webhook_deliveries SET status = 'failed', due_at = NULL, claimed_as = NULL, finished_at = max(?, created_at), error = ? WHERE webhook_id = ? AND status = 'pending'",
  )
  return (webhookId, error) => void giveUp.run(nowMs(), error, webhookId)
}

/** Creates the commands of senders, and the operator's redelivery. */
export function createDeliveryCommands(writing: Writing) {
  return {
    claimDeliveries: createClaim(writing),
    reportDelivery: createReport(writing),
    redeliver: createRedeliver(writing),
  }
}

function createClaim({ db, nowMs }: Writing): (claim: DeliveryClaim) => readonly ClaimedDeliveryRow[] {
  // At most as many per account as it has slots, so an account with many endpoints does not fill the list.
  const dueWebhooks = db.prepare<
    { proven: number; now: number; webhooks: string; accounts: string; perAccount: number; limit: number },
    Omit<Endpoint, 'proven'>
  >(
    `SELECT webhookId, d.accountId FROM (
       SELECT webhook_id AS webhookId, account_id AS accountId, claimed_at, next_due_at,
         row_number() OVER (PARTITION BY account_id ORDER BY claimed_at, next_due_at) AS turn FROM webhooks
       WHERE proven = :proven AND next_due_at <= :now
         AND webhook_id NOT IN (SELECT value FROM json_each(:webhooks)) AND account_id NOT IN (SELECT value FROM json_each(:accounts))
     ) AS d LEFT JOIN webhook_turns AS t ON t.account_id = d.accountId
     WHERE turn <= :perAccount ORDER BY turn, coalesce(t.claimed_at, 0), d.claimed_at, next_due_at LIMIT :limit`,
  )
  const dueDeliveries = db
    .prepare<[string, number, number], number>(
      "SELECT number FROM webhook_deliveries WHERE webhook_id = ? AND status = 'pending' AND due_at <= ? ORDER BY due_at LIMIT ?",
    )
    .pluck()
  const takeTurn = db.prepare<
    [number, string],
    { secret: Buffer; previousSecrets: string | null; includeInput: number }
  >(
    'UPDATE webhooks SET claimed_at = ? WHERE webhook_id = ? RETURNING secret, previous_secrets AS previousSecrets, include_input AS includeInput',
  )
  const takeAccountTurn = db.prepare<[string, number]>(
    'INSERT INTO webhook_turns (account_id, claimed_at) VALUES (?, ?) ON CONFLICT (account_id) DO UPDATE SET claimed_at = excluded.claimed_at',
  )
  const claim = db.prepare<
    [number, number, string, number],
    Omit<ClaimedDelivery, 'secrets' | 'job' | 'trace' | 'input' | 'proven'> & {
      jobNumber: number
      jobThen: string | null
    }
  >(
    `UPDATE webhook_deliveries SET due_at = ?, waits_since = ?, claimed_as = ?, token = token + 1, attempt = attempt + 1 WHERE number = ?
     RETURNING delivery_id AS deliveryId, webhook_id AS webhookId, ${urlOfDelivery} AS url, event, job_number AS jobNumber, job_then AS jobThen, created_at AS createdAtMs, attempt, token`,
  )
  const findUnderWay = createUnderWay(db)
  const findJob = db.prepare<[number], JobRow & Pick<ClaimedDelivery, 'trace'>>(
    `SELECT ${jobColumns}, trace FROM jobs WHERE number = ?`,
  )
  const findInput = db
    .prepare<[number], string>('SELECT coalesce(brief, input) FROM job_inputs WHERE number = ?')
    .pluck()

  function claimOf({ webhookId, accountId, proven }: Endpoint, slots: number, leaseMs: number): ClaimedDeliveryRow[] {
    const numbers = dueDeliveries.all(webhookId, nowMs(), slots)
    const turn = numbers.length > 0 ? takeTurn.get(nowMs(), webhookId) : undefined
    if (turn === undefined) return []
    const { includeInput, secret, previousSecrets } = turn
    const secrets = [secret, ...readPreviousSecrets(previousSecrets, nowMs())]
    takeAccountTurn.run(accountId, nowMs())
    return numbers.map((number) => {
      const row = claim.get(nowMs() + leaseMs, nowMs(), proven ? 'proven' : 'unproven', number)
      const job = row && findJob.get(row.jobNumber)
      if (row === undefined || job === undefined) throw new Error(`delivery number ${number} has no row or no job`)
      const { jobNumber, jobThen, ...delivery } = row
      const input = includeInput === 1 ? (findInput.get(jobNumber) ?? null) : null
      const then = jobThen === null ? {} : (JSON.parse(jobThen) as Partial<ClaimedDelivery['job']>)
      return { ...delivery, secrets, proven, input, trace: job.trace, job: { ...toJob(job), ...then } }
    })
  }

  return ({ limit, unprovenHere, leaseMs, ...caps }) => {
    const claimed: ClaimedDeliveryRow[] = []
    const room = createRoom(caps, findUnderWay(nowMs()), unprovenHere)

    function claimFrom(proven: boolean, perAccount: number, except: readonly string[]): void {
      const left = limit - claimed.length
      if (left <= 0) return
      const { webhookIds: webhooks, accountIds } = room.full()
      const due = dueWebhooks.all({
        proven: Number(proven),
        now: nowMs(),
        webhooks: JSON.stringify(webhooks),
        accounts: JSON.stringify([...accountIds, ...except]),
        perAccount,
        // An account with running attempts is skipped once it has filled its other slots.
        limit: left * perAccount,
      })
      for (const found of due) {
        const endpoint = { ...found, proven }
        const slots = Math.min(room.of(endpoint), limit - claimed.length)
        if (slots <= 0) continue
        const taken = claimOf(endpoint, slots, leaseMs)
        for (const _ of taken) room.take(endpoint)
        claimed.push(...taken)
      }
    }

    // First the unproven ones, within their part of the slots, so an endpoint can prove itself however busy the others are.
    const { unprovenAccountIds } = room.full()
    if (unprovenAccountIds) claimFrom(false, caps.unproven.perAccount, unprovenAccountIds)
    claimFrom(true, caps.perAccount, [])
    return claimed
  }
}

function createReport(writing: Writing): (report: DeliveryReport) => boolean {
  const { db, nowMs } = writing
  const giveUp = createGiveUp(writing)
  const find = db.prepare<[string, number], { number: number; webhookId: string; attempts: string }>(
    "SELECT number, webhook_id AS webhookId, attempts FROM webhook_deliveries WHERE delivery_id = ? AND token = ? AND status = 'pending'",
  )
  const write = db.prepare<[string, number | null, number, number | null, string, string | null, number]>(
    'UPDATE webhook_deliveries SET status = ?, due_at = ?, waits_since = ?, claimed_as = NULL, finished_at = max(?, created_at), attempts = ?, error = ? WHERE number = ?',
  )
  const giveBack = db.prepare<[number | null, number, number]>(
    'UPDATE webhook_deliveries SET due_at = ?, waits_since = ?, claimed_as = NULL, attempt = attempt - 1 WHERE number = ?',
  )
  const disable = db.prepare<[number, string]>(
    "UPDATE webhooks SET disabled_at = coalesce(disabled_at, ?) WHERE webhook_id = ? AND url <> ''",
  )
  const enable = db.prepare<[string]>(
    'UPDATE webhooks SET disabled_at = NULL WHERE webhook_id = ? AND disabled_at IS NOT NULL',
  )

  const rate = db.prepare<{ webhookId: string; prompt: number }>(
    `UPDATE webhooks SET standing = iif(:prompt, standing + 1, ${-probation})
     WHERE webhook_id = :webhookId AND standing <> iif(:prompt, 1, ${-probation})`,
  )

  return ({ deliveryId, token, attempt, next, prompt, gone }) => {
    const found = find.get(deliveryId, token)
    if (found === undefined) return false
    const dueAtMs = next.status === 'pending' ? nowMs() + next.waitMs : null
    if (attempt === null) {
      giveBack.run(dueAtMs, nowMs(), found.number)
      return true
    }
    const latest: DeliveryAttempt = { attemptedAtMs: nowMs() - attempt.durationMs, ...attempt }
    const attempts = [...(JSON.parse(found.attempts) as DeliveryAttempt[]), latest].slice(-keptAttempts)
    const finishedAtMs = next.status === 'pending' ? null : nowMs()
    write.run(next.status, dueAtMs, nowMs(), finishedAtMs, JSON.stringify(attempts), attempt.error, found.number)
    rate.run({ webhookId: found.webhookId, prompt: Number(prompt) })
    if (next.status === 'delivered') enable.run(found.webhookId)
    // That the URL of one start is gone says nothing about those of others.
    if (gone && disable.run(nowMs(), found.webhookId).changes > 0) giveUp(found.webhookId, goneError)
    return true
  }
}

function createRedeliver(
  writing: Writing,
): (deliveryId: string, by?: Actor, owner?: DeliveryOwner) => RedeliverOutcome {
  const { db, nowMs } = writing
  const record = createAuditWriter(writing)
  const find = db.prepare<
    [string],
    { number: number; deletedAtMs: number | null; accountId: string; webhookId: string }
  >(
    `SELECT d.number, w.deleted_at AS deletedAtMs, w.account_id AS accountId, w.webhook_id AS webhookId
     FROM webhook_deliveries AS d JOIN webhooks AS w ON w.webhook_id = d.webhook_id WHERE d.delivery_id = ?`,
  )
  const renew = db.prepare<[number, number, number]>(
    "UPDATE webhook_deliveries SET status = 'pending', due_at = ?, waits_since = ?, claimed_as = NULL, finished_at = NULL, attempt = 0, token = token + 1 WHERE number = ?",
  )
  const read = db.prepare<[number], DeliveryRow>(`SELECT ${deliveryColumns} FROM ${deliveryTables} WHERE d.number = ?`)
  return (deliveryId, by = systemActor, owner) => {
    const found = find.get(deliveryId)
    if (found === undefined || !owns(owner, found)) return { outcome: 'no_delivery' }
    if (found.deletedAtMs !== null) return { outcome: 'no_webhook' }
    const before = read.get(found.number)
    renew.run(nowMs(), nowMs(), found.number)
    const row = read.get(found.number)
    if (row === undefined || before === undefined) throw new Error(`delivery ${deliveryId} vanished`)
    record(
      {
        act: 'delivery.renewed',
        subject: deliveryId,
        accountId: row.accountId,
        before: { status: before.status },
        after: { status: row.status },
      },
      by,
    )
    return { outcome: 'done', delivery: toDelivery(row) }
  }
}

const rebased = "webhook_deliveries WHERE status = 'pending' AND waits_since > :now"
const forgotten = "webhook_deliveries WHERE status <> 'pending' AND finished_at <= :oldestDelivery"
const dropped = 'webhooks WHERE deleted_at IS NOT NULL AND delivery_count = 0'

/** What the sweep of deliveries looks for. */
export const deliveriesToSweep = [rebased, forgotten, dropped]

/**
 * Creates the sweep of deliveries: restarts waits from before the clock went back, removes old finished deliveries, then the
 * deleted endpoints that have none left.
 */
export function createDeliverySweep({
  db,
  nowMs,
}: Writing): (limit: number) => { rebased: number; forgotten: number; dropped: number } {
  const rebase = db.prepare<{ now: number; limit: number }>(
    `UPDATE webhook_deliveries SET due_at = :now + due_at - waits_since, waits_since = :now
     WHERE number IN (SELECT number FROM ${rebased} LIMIT :limit)`,
  )
  const forget = db.prepare<{ oldestDelivery: number; limit: number }>(
    `DELETE FROM webhook_deliveries WHERE number IN (SELECT number FROM ${forgotten} ORDER BY finished_at LIMIT :limit)`,
  )
  const drop = db.prepare<{ limit: number }>(
    `DELETE FROM webhooks WHERE webhook_id IN (SELECT webhook_id FROM ${dropped} LIMIT :limit)`,
  )
  return (limit) => ({
    rebased: rebase.run({ now: nowMs(), limit }).changes,
    forgotten: forget.run({ oldestDelivery: nowMs() - keptDeliveryMs, limit }).changes,
    dropped: drop.run({ limit }).changes,
  })
}

/** Creates a function that reads the endpoints of all attempts under way, whichever process makes them. */
function createUnderWay(db: Connection): (nowMs: number) => Endpoint[] {
  const find = db.prepare<[number], Omit<Endpoint, 'proven'> & { proven: number }>(
    `SELECT d.webhook_id AS webhookId, w.account_id AS accountId, d.claimed_as = 'proven' AS proven
     FROM webhook_deliveries AS d JOIN webhooks AS w ON w.webhook_id = d.webhook_id
     WHERE d.claimed_as IS NOT NULL AND d.due_at > ?`,
  )
  return (nowMs) => find.all(nowMs).map(({ proven, ...endpoint }) => ({ ...endpoint, proven: proven === 1 }))
}

export function createDeliveryReads(db: Connection, nowMs: () => number) {
  const findUnderWay = createUnderWay(db)
  const due = db
    .prepare<[number, number, string, string], number>(
      `SELECT 1 FROM webhooks WHERE proven = ? AND next_due_at <= ?
       AND webhook_id NOT IN (SELECT value FROM json_each(?)) AND account_id NOT IN (SELECT value FROM json_each(?)) LIMIT 1`,
    )
    .pluck()
  const dueTo = (proven: 0 | 1) => `SELECT 1 FROM webhooks WHERE proven = ${proven} AND next_due_at <= ?`
  const dueToAny = db.prepare<[number, number], number>(`${dueTo(1)} UNION ALL ${dueTo(0)} LIMIT 1`).pluck()
  return {
    hasDueDelivery({ unprovenHere, ...caps }: DeliveryClaim): boolean {
      const now = nowMs()
      // Read after each change of a job, and the usual result.
      if (dueToAny.get(now, now) === undefined) return false
      const { webhookIds, accountIds, unprovenAccountIds } = createRoom(caps, findUnderWay(now), unprovenHere).full()
      const isDue = (proven: boolean, except: readonly string[]): boolean =>
        due.get(Number(proven), now, JSON.stringify(webhookIds), JSON.stringify(except)) !== undefined
      if (isDue(true, accountIds)) return true
      return unprovenAccountIds !== null && isDue(false, [...accountIds, ...unprovenAccountIds])
    },
    listDeliveries: createDeliveryLister(db),
  }
}

function createDeliveryLister(db: Connection): (filter: DeliveryFilter) => Page<Delivery> {
  const pages = createPages<DeliveryRow>(db, deliveryColumns, deliveryTables, 'd.number')
  const counts = createPages(
    db,
    '',
    'webhook_deliveries AS d JOIN webhooks AS w ON w.webhook_id = d.webhook_id',
    'number',
  )

  return (filter) => {
    const { jobId, status } = filter
    const { owner, ofJob, ofStatus } = whichDeliveries(filter)

    function countAll(): number {
      const where = owner.length === 0 ? '' : `WHERE ${owner.join(' AND ')}`
      const sql = `SELECT coalesce(sum(w.delivery_count), 0) FROM webhooks AS w ${where}`
      return db.prepare<[object], number>(sql).pluck().get(filter) ?? 0
    }
    /** Exact, and without reading the delivered ones of an endpoint, which are many. */
    function count(): number {
      if (jobId !== null || (status !== null && status !== 'delivered'))
        return counts.count([...owner, ...ofJob, ...ofStatus], filter)
      return countAll() - (status === null ? 0 : counts.count([...owner, notDelivered], filter))
    }
    const { items, total } = pages.read([...owner, ...ofJob, ...ofStatus], filter, filter, count)
    return { items: items.map(toDelivery), total }
  }
}

/** Turns a claimed delivery from the other thread into the port's. */
export function toClaimedDelivery(row: ClaimedDeliveryRow): ClaimedDelivery {
  return {
    ...row,
    secrets: row.secrets.map((secret) => Buffer.from(secret)),
    input: parseObject(row.input),
  }
}
