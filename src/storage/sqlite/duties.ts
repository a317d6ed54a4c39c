// The commands for questions to other servers about jobs that have no run any more.
import { decideReconciled, type RunEnd } from '../../core/jobs/run-end.ts'
import type { Duty, DutyAnswer } from '../../core/store.ts'
import { type JobState, toRunState } from '../job-rows.ts'
import { createJobFinder } from './jobs.ts'
import { createRunEnds, type Found } from './run-ends.ts'
import { createDuties, createUpstreamRuns } from './upstream.ts'
import type { Writing } from './writing.ts'

/** Creates the commands. */
export function createDutyCommands(writing: Writing) {
  const findJob = createJobFinder(writing.db)
  const duties = createDuties(writing)
  const upstreamRuns = createUpstreamRuns(writing)
  const endRun = createRunEnds(writing)

  function resolve(job: JobState, answer: Extract<DutyAnswer, { outcome: 'known' | 'failed' }>): void {
    const end: RunEnd | null = decideReconciled(toRunState(job), answer, writing.nowMs())
    const found: Found | undefined =
      answer.outcome === 'known'
        ? { checkpoint: JSON.stringify(answer.checkpoint), afterLoss: answer.afterLoss }
        : undefined
    if (end) endRun(job, end, found)
  }

  return {
    claimDuties: (limit: number, leaseMs: number): readonly Duty[] => duties.claim(limit, leaseMs),

    answerDuty(duty: Duty, answer: DutyAnswer): void {
      const job = findJob(duty.jobId)
      if (job === null || !duties.isCurrent(job.number, duty)) return
      if (answer.outcome === 'again') return duties.postpone(job.number, answer.waitMs)
      if (answer.upstream) upstreamRuns.record(job.number, answer.upstream)
      if (answer.outcome === 'done') duties.drop(job.number)
      else resolve(job, answer)
    },
  }
}
