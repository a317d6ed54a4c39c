// Locks jobs with what their ends need, and writes the decisions of core about them: settled, queued again, or under review.
import type { AfterLoss } from '@mediagen/engine/engine.ts'
import { decideSettlement, type Ending, type SettlementWrites } from '../../../core/credits/settlement.ts'
import type { QueueShare } from '../../../core/jobs/fair-queue.ts'
import type { Job } from '../../../core/jobs/job.ts'
import type { RunEnd } from '../../../core/jobs/run-end.ts'
import { jobColumns, type JobState, selectStates } from '../../job-rows.ts'
import { lockAccounts, type LockedAccounts, post } from '../accounts/ledger.ts'
import type { Writing } from '../writing.ts'
import { positionedColumns, type PositionedRow, toPositioned } from './jobs.ts'
import { dropPendingWork, learnLate, oweCancel, oweReconcile } from './upstream.ts'

/** What a job under review continues from. */
export interface Found {
  /** JSON */
  readonly checkpoint: string
  readonly afterLoss: AfterLoss
}

/** Jobs with their accounts and positions in the queue: all that changes with them, in the order in which they were requested. */
export interface LockedJobs {
  readonly jobs: ReadonlyMap<string, JobState>
  readonly accounts: LockedAccounts
  readonly shares: Map<string, QueueShare>
}

const shareName = (model: string, accountId: string): string => JSON.stringify([model, accountId])

/** Reads where accounts are in the queues of models. */
export async function readShares(
  tx: Pick<Writing, 'rows'>,
  pairs: string,
  values: Readonly<Record<string, unknown>>,
): Promise<Map<string, QueueShare>> {
  const rows = await tx.rows<QueueShare & { model: string; accountId: string }>(
    `SELECT q.model, p.account_id AS accountId, q.virtual_time AS virtualTime, coalesce(s.finish, 0) AS finish
     FROM (SELECT DISTINCT model, account_id FROM ${pairs}) AS p JOIN queues AS q ON q.model = p.model
     LEFT JOIN queue_shares AS s ON s.model = p.model AND s.account_id = p.account_id`,
    values,
  )
  return new Map(rows.map(({ model, accountId, ...share }) => [shareName(model, accountId), share]))
}

export function shareOf(shares: ReadonlyMap<string, QueueShare>, model: string, accountId: string): QueueShare | null {
  return shares.get(shareName(model, accountId)) ?? null
}

/** Records where the jobs of accounts end in queues now. */
export function writeShares(
  tx: Writing,
  shares: Map<string, QueueShare>,
  finished: readonly { readonly model: string; readonly accountId: string; readonly finish: number }[],
): void {
  const latest = new Map(finished.map((one) => [shareName(one.model, one.accountId), one]))
  for (const [name, { finish }] of latest) shares.set(name, { virtualTime: shares.get(name)?.virtualTime ?? 0, finish })
  if (latest.size === 0) return
  const rows = [...latest.values()]
  tx.send(
    `INSERT INTO queue_shares (model, account_id, finish) SELECT * FROM unnest(:models::text[], :accountIds::text[], :finishes::float8[])
     ON CONFLICT (model, account_id) DO UPDATE SET finish = excluded.finish`,
    {
      models: rows.map(({ model }) => model),
      accountIds: rows.map(({ accountId }) => accountId),
      finishes: rows.map(({ finish }) => finish),
    },
  )
}

/**
 * Locks jobs, after their accounts.
 * @param condition what must hold of a job once it is locked, in SQL
 */
export async function lockJobs(
  tx: Pick<Writing, 'rows'>,
  jobIds: readonly string[],
  condition = 'TRUE',
  values: Readonly<Record<string, unknown>> = {},
): Promise<LockedJobs> {
  const [locked, shares] = await Promise.all([
    lockRuns(tx, jobIds, condition, values),
    readShares(tx, "jobs WHERE job_id = ANY(:jobIds) AND status = 'queued'", { jobIds }),
  ])
  return { ...locked, shares }
}

/** The same for jobs that have left the queue, where they have no position. */
export async function lockRuns(
  tx: Pick<Writing, 'rows'>,
  jobIds: readonly string[],
  condition = "status = 'running'",
  values: Readonly<Record<string, unknown>> = {},
): Promise<LockedJobs> {
  const [accounts, rows] = await Promise.all([
    lockAccounts(tx, 'account_id IN (SELECT account_id FROM jobs WHERE job_id = ANY(:jobIds))', { jobIds }),
    tx.rows<JobState>(
      `${selectStates} WHERE job_id = ANY(:jobIds) AND ${condition} ORDER BY number FOR NO KEY UPDATE`,
      { jobIds, ...values },
    ),
  ])
  return { jobs: new Map(rows.map((row) => [row.jobId, row])), accounts, shares: new Map() }
}

/** A job that is to be moved out of a run or a review. */
export interface JobEnd {
  readonly job: JobState
  readonly end: RunEnd
  readonly found?: Found | undefined
}

/** The only function that moves jobs out of a run or a review. Everything is sent at once, so that many end together. */
export async function endRuns(
  tx: Writing,
  locked: LockedJobs,
  ends: readonly JobEnd[],
  nowMs: number,
): Promise<readonly Job[]> {
  const settled: Settled[] = []
  const moving: Promise<PositionedRow | undefined>[] = []
  for (const { job, end, found } of ends) {
    if (end.status === 'queued') moving.push(requeue(tx, job.number, end, found))
    else if (end.status === 'needs_review') moving.push(review(tx, job.number, end, nowMs))
    else settled.push(settle(tx, locked, job, end, nowMs))
  }
  const settling = writeSettled(tx, locked, settled, nowMs)
  // Those that were found too late to go on: what is to be ended elsewhere has a name now.
  for (const { job, end, found } of ends)
    if (found && end.status !== 'queued' && end.status !== 'needs_review')
      learnLate(tx, job.number, found.checkpoint, nowMs)
  const [moved, ended] = await Promise.all([Promise.all(moving), settling])
  const rows = new Map([...moved, ...ended].map((row) => [row?.jobId, row]))
  return ends.map(({ job: { jobId } }) => {
    const row = rows.get(jobId)
    if (row === undefined) throw new Error(`job ${jobId} vanished`)
    const job = toPositioned(row)
    // Later jobs change its position without a notification, so this one carries no record.
    if (job.status === 'queued') tx.queued(job.jobId)
    else tx.changed(job.jobId, job)
    return job
  })
}

/** The same for one job. */
export async function endRun(
  tx: Writing,
  locked: LockedJobs,
  job: JobState,
  end: RunEnd,
  nowMs: number,
  found?: Found,
): Promise<Job> {
  const [ended] = await endRuns(tx, locked, [{ job, end, found }], nowMs)
  if (ended === undefined) throw new Error(`job ${job.jobId} vanished`)
  return ended
}

function requeue(
  tx: Writing,
  number: number,
  { spent, availableAtMs }: Extract<RunEnd, { status: 'queued' }>,
  found?: Found,
): Promise<PositionedRow | undefined> {
  const { checkpoint, afterLoss } = found ?? { checkpoint: null, afterLoss: null }
  dropPendingWork(tx, number)
  tx.send(
    `UPDATE jobs SET status = 'queued', progress = 0, worker = NULL, lease_until = NULL, lost_runs = lost_runs + :spent, available_at = :availableAtMs,
       checkpoint = coalesce(:checkpoint, checkpoint), after_loss = coalesce(:afterLoss, after_loss), finished_at = NULL, error = NULL,
       preview_key = NULL, sequence = sequence + 1
     WHERE number = :number`,
    { number, spent: spent ? 1 : 0, availableAtMs, checkpoint, afterLoss },
  )
  return tx.row<PositionedRow>(`SELECT ${positionedColumns} FROM jobs WHERE number = :number`, { number })
}

function review(
  tx: Writing,
  number: number,
  { error, outputs }: Extract<RunEnd, { status: 'needs_review' }>,
  nowMs: number,
): Promise<PositionedRow | undefined> {
  if (!outputs) oweReconcile(tx, number, nowMs)
  return tx.row<PositionedRow>(
    `UPDATE jobs SET status = 'needs_review', finished_at = greatest(:nowMs, started_at), error = :error, outputs = coalesce(:outputs, outputs),
       after_loss = 'never', worker = NULL, lease_until = NULL, preview_key = NULL, sequence = sequence + 1
     WHERE number = :number RETURNING ${jobColumns}, NULL AS queuePosition`,
    { number, nowMs, error: JSON.stringify(error), outputs: outputs ? JSON.stringify(outputs) : null },
  )
}

/** A job and what its end writes. */
interface Settled {
  readonly job: JobState
  readonly writes: SettlementWrites
}

function settle(tx: Writing, { accounts, shares }: LockedJobs, job: JobState, end: Ending, nowMs: number): Settled {
  const { accountId, model, number } = job
  const account = accounts.get(accountId) ?? null
  const share = job.status === 'queued' ? shareOf(shares, model, accountId) : null
  const writes = decideSettlement({ job, account, share }, end, nowMs)
  const { postings, finish, status } = writes
  if (job.status === 'needs_review') dropPendingWork(tx, number)
  if (status !== 'succeeded') oweCancel(tx, number, nowMs)
  // The next end of a job of this account begins where this one leaves the balance.
  const after = postings.at(-1)?.after
  if (account && after) accounts.set(accountId, { ...account, ...after })
  if (finish !== null) writeShares(tx, shares, [{ model, accountId, finish }])
  return { job, writes }
}

/** Writes all settlements by one statement, and their entries by another: each statement on jobs costs as much as some rows. */
async function writeSettled(
  tx: Writing,
  { accounts }: LockedJobs,
  settled: readonly Settled[],
  nowMs: number,
): Promise<readonly PositionedRow[]> {
  if (settled.length === 0) return []
  const of = <Value>(read: (writes: SettlementWrites) => Value): Value[] => settled.map(({ writes }) => read(writes))
  const rows = tx.rows<PositionedRow>(
    `UPDATE jobs SET status = e.new_status, progress = e.new_progress, credits_charged = e.charged, credits_released = e.released,
       outputs = coalesce(e.new_outputs, outputs), made_by = e.new_made_by, error = e.new_error, finished_at = e.ended_at, lost_runs = lost_runs + e.spent, checkpoint = NULL,
       preview_key = NULL, worker = NULL, lease_until = NULL, available_at = NULL, sequence = sequence + 1
     FROM unnest(:numbers::bigint[], :statuses::text[], :progresses::float8[], :charged::bigint[], :released::bigint[], :outputs::text[],
       :errors::text[], :endedAt::bigint[], :spent::bigint[], :madeBy::text[])
       AS e (of_job, new_status, new_progress, charged, released, new_outputs, new_error, ended_at, spent, new_made_by)
     WHERE number = e.of_job RETURNING ${jobColumns}, NULL AS queuePosition`,
    {
      numbers: settled.map(({ job }) => job.number),
      statuses: of(({ status }) => status),
      progresses: of(({ progress }) => progress),
      charged: of(({ charged }) => charged),
      released: of(({ released }) => released),
      outputs: of(({ outputs }) => outputs && JSON.stringify(outputs)),
      errors: of(({ error }) => error && JSON.stringify(error)),
      endedAt: of(({ finishedAtMs }) => finishedAtMs),
      spent: of(({ spentRuns }) => spentRuns),
      madeBy: of(({ madeBy }) => madeBy && JSON.stringify(madeBy)),
    },
  )
  const posted = settled.map(({ job: { accountId, number, jobId }, writes: { postings } }) => {
    return { accountId, jobNumber: number, jobId, note: null, postings }
  })
  post(tx, accounts, nowMs, posted)
  return rows
}
