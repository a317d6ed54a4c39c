// The commands for pending work at other servers, for jobs that no longer run.
import { decideReconciled, type RunEnd } from '../../../core/jobs/run-end.ts'
import type { PendingWork, PendingWorkAnswer } from '../../../core/store.ts'
import { type JobState, toRunState } from '../../job-rows.ts'
import type { Writing } from '../threads/writing.ts'
import { createJobFinder } from './jobs.ts'
import { createRunEnds, type Found } from './run-ends.ts'
import { createPendingWork, createUpstreamRuns } from './upstream.ts'

export function createPendingWorkCommands(writing: Writing) {
  const findJob = createJobFinder(writing.db)
  const pendingWork = createPendingWork(writing)
  const upstreamRuns = createUpstreamRuns(writing)
  const endRun = createRunEnds(writing)

  function resolve(job: JobState, answer: Extract<PendingWorkAnswer, { outcome: 'known' | 'failed' }>): void {
    const end: RunEnd | null = decideReconciled(toRunState(job), answer, writing.nowMs())
    const found: Found | undefined =
      answer.outcome === 'known'
        ? { checkpoint: JSON.stringify(answer.checkpoint), afterLoss: answer.afterLoss }
        : undefined
    if (end) endRun(job, end, found)
  }

  return {
    claimPendingWork: (limit: number, leaseMs: number): readonly PendingWork[] => pendingWork.claim(limit, leaseMs),

    answerPendingWork(pending: PendingWork, answer: PendingWorkAnswer): void {
      const job = findJob(pending.jobId)
      if (job === null || !pendingWork.isCurrent(job.number, pending)) return
      if (answer.outcome === 'again') return pendingWork.postpone(job.number, answer.waitMs)
      if (answer.upstream) upstreamRuns.record(job.number, answer.upstream)
      if (answer.outcome === 'done') pendingWork.drop(job.number)
      else resolve(job, answer)
    },
  }
}
