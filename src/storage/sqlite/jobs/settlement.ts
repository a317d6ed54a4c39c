// Writes the end of a job: its last state, the resolution of its hold and the ledger entries, atomically.
import { decideSettlement, type Ending } from '../../../core/credits/settlement.ts'
import type { Job } from '../../../core/jobs/job.ts'
import { jobColumns, toJob, type JobRow, type JobState } from '../../job-rows.ts'
import { createAccountFinder } from '../accounts/accounts.ts'
import { createLedgerWriter } from '../accounts/ledger.ts'
import type { Writing } from '../threads/writing.ts'
import { createQueueShares } from './queue-shares.ts'
import { createPendingWork } from './upstream.ts'

/** Creates the only function that ends jobs. */
export function createSettlement(writing: Writing): (job: JobState, ending: Ending) => Job {
  const { db, nowMs, changed } = writing
  const findAccount = createAccountFinder(db)
  const { post } = createLedgerWriter(writing)
  const shares = createQueueShares(db)
  const pendingWork = createPendingWork(writing)
  const write = db.prepare<(string | number | null)[], JobRow>(
    `UPDATE jobs SET status = ?, progress = ?, credits_charged = ?, credits_released = ?, outputs = coalesce(?, outputs), made_by = ?, error = ?,
       finished_at = ?, lost_runs = lost_runs + ?, checkpoint = NULL, preview_key = NULL, worker = NULL, lease_until = NULL, available_at = NULL,
       sequence = sequence + 1
     WHERE number = ? RETURNING ${jobColumns}`,
  )

  return function endJob(job, end) {
    const account = findAccount(job.accountId)
    const share = job.status === 'queued' ? shares.read(job.model, job.accountId) : null
    const writes = decideSettlement({ job, account, share }, end, nowMs())
    const { status, progress, charged, released, outputs, madeBy, error, finishedAtMs, spentRuns, postings, finish } =
      writes
    if (job.status === 'needs_review') pendingWork.drop(job.number)
    if (status !== 'succeeded') pendingWork.oweCancel(job.number)
    const [outputsText, errorText] = [outputs && JSON.stringify(outputs), error && JSON.stringify(error)]
    const row = write.get(
      status,
      progress,
      charged,
      released,
      outputsText,
      madeBy && JSON.stringify(madeBy),
      errorText,
      finishedAtMs,
      spentRuns,
      job.number,
    )
    if (row === undefined || account === null) throw new Error(`job ${job.jobId} vanished`)
    post(account, postings, job, null)
    if (finish !== null) shares.write(job.model, job.accountId, finish)
    const ended = toJob(row)
    changed(job.jobId, ended)
    return ended
  }
}
