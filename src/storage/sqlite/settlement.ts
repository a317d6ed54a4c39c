// The end of a job: its last state, the resolution of its hold and the ledger entries, atomically.
import { mayFollow, type Job } from '../../core/job.ts'
import { leavePlace, newQueue } from '../../core/fair-queue.ts'
import { isCredits, settle } from '../../core/ledger.ts'
import type { RunEnd } from '../../core/run-end.ts'
import { createAccountFinder } from './accounts.ts'
import { jobColumns, toJob, type JobRow, type JobState } from './jobs.ts'
import { createLedgerWriter } from './ledger.ts'
import { createQueueShares } from './queue-shares.ts'
import { createDuties } from './upstream.ts'
import type { Writing } from './writing.ts'

/** How a job ends. */
export type Ending = Exclude<RunEnd, { status: 'queued' | 'needs_review' }>

/** Creates the only function that ends jobs. */
export function createSettlement(writing: Writing): (job: JobState, ending: Ending) => Job {
  const { db, nowMs, changed } = writing
  const findAccount = createAccountFinder(db)
  const { post } = createLedgerWriter(writing)
  const shares = createQueueShares(db)
  const duties = createDuties(writing)
  const write = db.prepare<
    [string, string, number, number, string | null, string | null, number, number, number],
    JobRow
  >(
    `UPDATE jobs SET status = ?, progress = CASE ? WHEN 'succeeded' THEN 1 ELSE progress END, credits_charged = ?, credits_released = ?,
       outputs = coalesce(?, outputs), error = ?,
       finished_at = max(?, coalesce(finished_at, started_at, created_at)), lost_runs = lost_runs + ?,
       checkpoint = NULL, worker = NULL, lease_until = NULL, available_at = NULL, sequence = sequence + 1
     WHERE number = ? RETURNING ${jobColumns}`,
  )

  return function endJob(job, end) {
    const { status } = end
    if (!mayFollow(job.status, status)) throw new Error(`job ${job.jobId} is ${job.status} and cannot become ${status}`)
    const creditsActual = end.status === 'succeeded' ? end.creditsActual : 0
    if (!isCredits(creditsActual)) throw new RangeError('creditsActual must be a whole number from 0')
    const account = findAccount(job.accountId)
    if (account === null) throw new Error(`job ${job.jobId} belongs to no account`)
    const { charged, released, postings } = settle(account, job.creditsHeld, creditsActual)
    const outputs = end.status === 'succeeded' && end.outputs ? JSON.stringify(end.outputs) : null
    const error = end.status === 'succeeded' ? null : JSON.stringify(end.error)
    const spent = end.status !== 'succeeded' && end.spent ? 1 : 0
    if (job.status === 'needs_review') duties.drop(job.number)
    if (status !== 'succeeded') duties.oweCancel(job.number)
    const row = write.get(status, status, charged, released, outputs, error, nowMs(), spent, job.number)
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
