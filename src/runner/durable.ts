// Writes the checkpoints and the end of a run to the store.
import { setTimeout as pause } from 'node:timers/promises'
import { ClaimLost, type Engine, type JsonValue, type UpstreamRun } from '@mediagen/engine/engine.ts'
import type { Job, JobError, JobOutcome } from '../core/jobs/job.ts'
import { isRefusedForGood } from '../core/storage-trouble.ts'
import type { Attempt } from './attempt.ts'

// Wait before another try.
const firstRetryMs = 200
const longestRetryMs = 5000

const notRecordedError: JobError = {
  code: 'output_not_stored',
  message: 'The result of the job could not be recorded on this server. Nothing was charged.',
  retryable: true,
}

/**
 * Records the end; the token of the claim ensures that it is recorded at most once. An end that the database refuses for good
 * becomes a failure, so that the job ends. Null when the claim was lost before.
 */
export async function endJob(attempt: Attempt, outcome: JobOutcome): Promise<Job | null> {
  try {
    return await finish(attempt, outcome)
  } catch (error) {
    if (!isRefusedForGood(error)) throw error
    attempt.deps.log.error({ err: error, job_id: attempt.claimed.job.jobId }, 'the database refused the end of a job')
    return finish(attempt, { status: 'failed', error: notRecordedError })
  }
}

async function finish(attempt: Attempt, outcome: JobOutcome): Promise<Job | null> {
  const { claimed, deps } = attempt
  const { jobId, attempts } = claimed.job
  return write(attempt, 'the end of a job', async () => {
    const ended = await deps.store.finishJob(jobId, claimed.token, outcome)
    if (ended !== null) return ended
    // A try that failed may have recorded it all the same: its answer was lost.
    const now = await deps.store.getJob(null, jobId)
    return now?.attempts === attempts && now.status === outcome.status ? now : null
  })
}

/**
 * Saves a checkpoint, however long that takes, with what its engine says of it.
 * @throws ClaimLost; the run ends
 */
export async function saveCheckpoint(
  attempt: Attempt,
  engine: Engine,
  checkpoint: JsonValue,
  upstream?: UpstreamRun,
): Promise<void> {
  const { claimed, model, deps } = attempt
  const { job, token } = claimed
  const afterLoss = engine.afterLoss(model.engine, checkpoint)
  const saved = { checkpoint, afterLoss, ...(upstream && { upstream }) }
  if (!(await write(attempt, 'a checkpoint', () => deps.store.saveCheckpoint(job.jobId, token, saved)))) {
    attempt.lose()
    throw new ClaimLost()
  }
  attempt.checkpoint = checkpoint
  attempt.afterLoss = afterLoss
  if (upstream?.verdict !== 'submitting') return
  // The time limit counts from the first submission.
  if (!attempt.isSubmitted) attempt.time.restart(model.timeoutMs)
  attempt.isSubmitted = true
}

/**
 * Writes to the store. While that fails, for example on a full disk, it is retried: the claim is kept meanwhile.
 * @throws the last error of the store if it refuses the change for good, or the run is given up first; the claim then runs out
 */
async function write<Result>(attempt: Attempt, what: string, step: () => Promise<Result>): Promise<Result> {
  const { claimed, abandoned, deps } = attempt
  const { jobId } = claimed.job
  for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, longestRetryMs)) {
    // A try that writes and loses its answer also loses the claim, perhaps before it fails: one that began earlier is not the last.
    const isLast = abandoned.aborted
    try {
      return await step()
    } catch (error) {
      if (isLast || isRefusedForGood(error)) throw error
      deps.log.error({ err: error, job_id: jobId, retry_ms: waitMs }, `${what} could not be written`)
      // Giving up ends the pause, not a running attempt.
      await pause(waitMs, undefined, { signal: abandoned }).catch(() => {})
    }
  }
}
