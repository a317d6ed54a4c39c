// Ends of jobs by people: the owner cancels a job, an operator resolves one under review.
import { type Actor, systemActor } from '@mediagen/core/audit.ts'
import type { Job } from '@mediagen/core/job.ts'
import { isCredits } from '@mediagen/core/ledger.ts'
import { decideCancel, decideReview } from '@mediagen/core/run-end.ts'
import type { ResolveOutcome } from '@mediagen/core/store.ts'
import { createAuditWriter } from './audit.ts'
import { createJobFinder, hasOutputs, jobColumns, toJob, type JobRow } from './jobs.ts'
import { createRunEnds, toRunState } from './run-ends.ts'
import type { Writing } from './writing.ts'

/** Creates the commands that end a job from outside. */
export function createCancelCommands(writing: Writing) {
  const { db, changed } = writing
  const findJob = createJobFinder(db)
  const endRun = createRunEnds(writing)
  const record = createAuditWriter(writing)
  const wish = db.prepare<[number]>('UPDATE jobs SET cancel_requested = 1, sequence = sequence + 1 WHERE number = ?')
  const read = db.prepare<[number], JobRow>(`SELECT ${jobColumns} FROM jobs WHERE number = ?`)

  return {
    requestCancel(accountId: string, jobId: string): Job | null {
      const job = findJob(jobId)
      if (job === null || job.accountId !== accountId) return null
      const decided = decideCancel(toRunState(job))
      if (decided !== 'nothing' && decided !== 'wish') return endRun(job, decided)
      if (decided === 'wish') {
        wish.run(job.number)
        changed(jobId)
      }
      const row = read.get(job.number)
      return row ? toJob(row) : null
    },

    resolveReview(jobId: string, charge: number, by: Actor = systemActor): ResolveOutcome {
      if (!isCredits(charge)) throw new RangeError('charge must be a whole number from 0')
      const job = findJob(jobId)
      if (job === null) return { outcome: 'no_job' }
      if (job.status !== 'needs_review') return { outcome: 'not_in_review', status: job.status }
      if (charge > job.creditsHeld) return { outcome: 'above_hold', creditsHeld: job.creditsHeld }
      const ended = endRun(job, decideReview(charge, hasOutputs(job)))
      const { status, creditsCharged: charged, creditsReleased: released } = ended
      const before = { status: job.status, held: job.creditsHeld }
      const after = { status, charged, released }
      record({ act: 'job.resolved', subject: jobId, accountId: job.accountId, before, after }, by)
      return { outcome: 'done', job: ended }
    },
  }
}
