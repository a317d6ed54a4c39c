// How a run ended, in the words of the job.
import { lacksDescriptors } from '@mediagen/engine/descriptors.ts'
import { EngineError, OutcomeUnknown, Undelivered } from '@mediagen/engine/engine.ts'
import { PriceError } from '../catalog/prices/pricing.ts'
import type { JobError, JobOutcome } from '../core/jobs/job.ts'
import { canceledError, deadlineError } from '../core/jobs/loss.ts'
import { isDatabaseTrouble, isStorageTrouble } from '../core/storage-trouble.ts'
import type { Attempt, StopReason } from './attempt.ts'
import { removeOutputs } from './media/outputs.ts'
import { review } from './review.ts'
import { produce } from './work.ts'

const diskError: JobError = {
  code: 'output_not_stored',
  message: 'What the job made could not be written on this server. Nothing was charged.',
  retryable: true,
}

/** Runs the engine. Null when the claim was lost: another worker has the job. */
export async function runToOutcome(attempt: Attempt): Promise<JobOutcome | null> {
  const { job } = attempt.claimed
  try {
    // Earlier runs can no longer end, so their stored outputs belong to no record.
    for (let earlier = 1; earlier < job.attempts; earlier++) await removeOutputs(attempt, earlier)
    return await produce(attempt)
  } catch (thrown) {
    return toOutcome(thrown, attempt)
  }
}

function toOutcome(thrown: unknown, attempt: Attempt): JobOutcome | null {
  const { claimed, model, watched, deps } = attempt
  const reason = watched.signal.aborted ? (watched.signal.reason as StopReason) : 'failed'
  switch (reason) {
    case 'lost':
      return null
    case 'canceled':
      return { status: 'canceled', error: canceledError }
    case 'deadline':
      return { status: 'canceled', error: deadlineError }
    case 'timeout':
      if (mayBePaid(attempt)) return { status: 'needs_review' }
      return {
        status: 'failed',
        error: {
          code: 'timeout',
          message: `The run took longer than ${model.timeoutMs / 1000} s, the limit of its model.`,
          retryable: true,
        },
      }
    case 'stopping':
    case 'failed': {
      if (thrown instanceof OutcomeUnknown) {
        deps.log.warn({ err: thrown, job_id: claimed.job.jobId, model: model.id }, 'the outcome of a run is unknown')
        return { status: 'needs_review' }
      }
      if (thrown instanceof Undelivered) {
        deps.log.warn({ err: thrown, job_id: claimed.job.jobId, model: model.id }, 'what was paid cannot be delivered')
        return review([], 'output_unavailable', thrown.message)
      }
      if (reason === 'stopping') return { status: 'queued' }
      return lacksDescriptors(thrown) || isDatabaseTrouble(thrown) ? giveBack(thrown, attempt) : fail(thrown, attempt)
    }
  }
}

/** Whether what was sent, and not answered in time, may have been accepted and cost money. */
function mayBePaid({ model, deps, checkpoint, isSubmitted, afterLoss }: Attempt): boolean {
  const said = deps.engines.get(model.engine.kind)?.mayBePaid?.(model.engine, checkpoint)
  return said ?? (isSubmitted && afterLoss === 'never')
}

/**
 * The outcome of a run that found no free file descriptor, or a database that is away or takes no writes, which is not the fault of
 * the job.
 */
function giveBack(thrown: unknown, { claimed: { job }, deps }: Attempt): JobOutcome {
  deps.log.warn(
    { err: thrown, job_id: job.jobId },
    'a run was given back for lack of file descriptors or of the database',
  )
  return { status: 'queued', hindered: true }
}

function fail(thrown: unknown, attempt: Attempt): JobOutcome {
  const error = describeFailure(thrown, attempt)
  // Another run would use as much; and one that submitted has no time left for another.
  const isFinal = thrown instanceof PriceError || (error.code === 'timeout' && attempt.isSubmitted)
  const mayPass = error.retryable && !isFinal
  return { status: 'failed', error, ...(mayPass && { jitter: attempt.deps.random() }) }
}

function describeFailure(thrown: unknown, { claimed: { job }, deps: { log } }: Attempt): JobError {
  if (thrown instanceof EngineError) return { code: thrown.code, message: thrown.message, retryable: thrown.retryable }
  if (isStorageTrouble(thrown)) {
    log.error({ err: thrown, job_id: job.jobId, model: job.model }, 'what a run made could not be written')
    return diskError
  }
  const what = thrown instanceof PriceError ? 'the usage that an engine reported gives no price' : 'an engine crashed'
  log.error({ err: thrown, job_id: job.jobId, model: job.model }, what)
  if (thrown instanceof PriceError)
    return {
      code: 'usage_unknown',
      message: 'No price can be computed from the usage that the engine reported, so nothing was charged.',
      retryable: true,
    }
  return { code: 'engine_crashed', message: 'The engine stopped unexpectedly.', retryable: true }
}
