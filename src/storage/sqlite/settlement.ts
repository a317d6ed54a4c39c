// The end of a job: its last state, the resolution of its hold and the ledger entries, atomically.
import type { Asset } from '../../core/asset.ts'
import { mayFollow, type Job, type JobError, type JobStatus } from '../../core/job.ts'
import { leavePlace, newQueue } from '../../core/fair-queue.ts'
import { isCredits, settle } from '../../core/ledger.ts'
import { createAccountFinder } from './accounts.ts'
import { jobColumns, toJob, type JobRow, type JobState } from './jobs.ts'
import { createLedgerWriter } from './ledger.ts'
import { createQueueShares } from './queue-shares.ts'
import type { Writing } from './writing.ts'

/** How a job ends. */
export interface Ending {
  readonly status: Extract<JobStatus, 'succeeded' | 'failed' | 'canceled' | 'expired'>
  /** Credits that the work cost. */
  readonly creditsActual: number
  /** Undefined keeps the outputs. */
  readonly outputs?: readonly Asset[]
  readonly error: JobError | null
  /** 1 if the worker of the run was lost. */
  readonly losses?: number
}

/** Creates the only function that ends jobs. */
export function createSettlement(writing: Writing): (job: JobState, ending: Ending) => Job {
  const { db, nowMs, changed } = writing
  const findAccount = createAccountFinder(db)
  const { post } = createLedgerWriter(writing)
  const shares = createQueueShares(db)
  const end = db.prepare<
    [string, string, number, number, string | null, string | null, number, number, number],
    JobRow
  >(
    `UPDATE jobs SET status = ?, progress = CASE ? WHEN 'succeeded' THEN 1 ELSE progress END, credits_charged = ?, credits_released = ?,
       outputs = coalesce(?, outputs), error = ?,
       finished_at = max(?, coalesce(finished_at, started_at, created_at)), lost_runs = lost_runs + ?,
       checkpoint = NULL, worker = NULL, lease_until = NULL, available_at = NULL, sequence = sequence + 1
     WHERE number = ? RETURNING ${jobColumns}`,
  )

  return function endJob(job, { status, creditsActual, outputs, error, losses = 0 }) {
    if (!mayFollow(job.status, status)) throw new Error(`job ${job.jobId} is ${job.status} and cannot become ${status}`)
    if (!isCredits(creditsActual)) throw new RangeError('creditsActual must be a whole number from 0')
    const account = findAccount(job.accountId)
    if (account === null) throw new Error(`job ${job.jobId} belongs to no account`)
    const { charged, released, postings } = settle(account, job.creditsHeld, creditsActual)
    const outputsText = outputs === undefined ? null : JSON.stringify(outputs)
    const errorText = error === null ? null : JSON.stringify(error)
    const row = end.get(status, status, charged, released, outputsText, errorText, nowMs(), losses, job.number)
    if (row === undefined) throw new Error(`job ${job.jobId} vanished`)
    post(account, postings, job.number, null)
    if (job.status === 'queued' && job.startedAtMs === null) {
      const share = shares.read(job.model, job.accountId)
      shares.write(job.model, job.accountId, leavePlace(share ?? newQueue, job.creditsHeld))
    }
    const ended = toJob(row)
    changed(job.jobId, ended)
    return ended
  }
}
