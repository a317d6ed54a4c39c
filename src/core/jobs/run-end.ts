// The transitions of a job when its run reports, ends or is lost, and when its owner or another server decides. Pure: the
// stores write the results of these functions. docs/contract.md, section 1.
import type { AfterLoss } from '@mediagen/engine/engine.ts'
import type { Asset } from '../files/asset.ts'
import type { JobError, JobOutcome, JobStatus } from './job.ts'
import {
  backoffMs,
  canceledError,
  deadlineError,
  expiredError,
  releasedError,
  submissionLostError,
  unknownOutcomeError,
  usageUnknownError,
  workerLostError,
} from './loss.ts'
import type { MadeBy } from './reproduction.ts'

// Progress 1 means succeeded, which only the end of the run may report.
const runningProgressMax = 0.999

/** The facts about a job that the rules need. */
export interface RunState {
  readonly status: JobStatus
  /** Fencing token of the latest claim. */
  readonly token: number
  /** What may be done when this run is lost. */
  readonly afterLoss: AfterLoss
  readonly cancelRequested: boolean
  readonly deadlineAtMs: number | null
  readonly startedAtMs: number | null
  /** Runs begun. */
  readonly attempts: number
  /** Runs that were lost or failed; at `maxAttempts` the job fails. */
  readonly lostRuns: number
  readonly maxAttempts: number
  readonly progress: number
}

/** What becomes of a job. `spent`: the run counts as one of those that may be lost or fail. */
export type RunEnd =
  | {
      readonly status: 'succeeded'
      readonly creditsActual: number
      readonly outputs?: readonly Asset[]
      readonly madeBy?: MadeBy | undefined
    }
  | { readonly status: 'failed' | 'canceled' | 'expired'; readonly error: JobError; readonly spent: boolean }
  /** With outputs, also none, the work is done: other servers know nothing more. */
  | { readonly status: 'needs_review'; readonly error: JobError; readonly outputs?: readonly Asset[] }
  | { readonly status: 'queued'; readonly spent: boolean; readonly availableAtMs: number | null }

/** Whether a report with this token is about the current run. */
export function isCurrent(job: RunState | null, token: number): job is RunState {
  return job !== null && job.status === 'running' && job.token === token
}

/** What a heartbeat changes and answers; null when the claim is lost. */
export function decideHeartbeat(job: RunState | null, beat: { token: number; progress: number }, nowMs: number) {
  if (!isCurrent(job, beat.token)) return null
  const reached = Math.min(beat.progress, runningProgressMax)
  return {
    /** Progress to record; null when it is no more than before. */
    progress: reached > job.progress ? reached : null,
    cancel: job.cancelRequested,
    deadline: isPassed(job, nowMs),
  }
}

/** The transition of a job whose run reports its end; null when the claim is lost. */
export function decideFinish(job: RunState | null, token: number, outcome: JobOutcome, nowMs: number): RunEnd | null {
  if (!isCurrent(job, token)) return null
  switch (outcome.status) {
    case 'succeeded': {
      if (isPassed(job, nowMs)) return cancel(deadlineError)
      const { creditsActual, outputs, madeBy } = outcome
      return { status: 'succeeded', creditsActual, outputs, madeBy }
    }
    case 'canceled':
      return cancel(outcome.error)
    case 'failed': {
      const availableAtMs = outcome.jitter === undefined ? null : nowMs + backoffMs(job.lostRuns + 1, outcome.jitter)
      return availableAtMs !== null && mayTryAgain(job, availableAtMs)
        ? { status: 'queued', spent: true, availableAtMs }
        : { status: 'failed', error: outcome.error, spent: false }
    }
    case 'needs_review': {
      const { outputs, error = usageUnknownError } = outcome
      const open: RunEnd = outputs ? { status: 'needs_review', error, outputs } : review()
      return wanted(job, nowMs) ?? open
    }
    case 'queued': {
      const availableAtMs = outcome.hindered ? nowMs + backoffMs(job.attempts, 1) : null
      // What its owner wished before the backup says nothing about what was paid after it.
      const decided = outcome.isRestored ? unknown(job) : null
      return decided ?? wanted(job, nowMs) ?? unknown(job) ?? { status: 'queued', spent: false, availableAtMs }
    }
  }
}

/**
 * The transition of a job whose worker is lost. A cancel or a deadline of its owner comes first. A run that may have cost
 * money elsewhere is never repeated. A run that was submitted elsewhere continues, however often its workers are lost.
 * @param jitter 0 … 1
 */
export function decideLoss(job: RunState, jitter: number, nowMs: number): RunEnd {
  const decided = wanted(job, nowMs) ?? unknown(job)
  if (decided) return decided
  const continues = job.afterLoss === 'continue'
  if (!continues && job.lostRuns + 1 >= job.maxAttempts)
    return { status: 'failed', error: workerLostError, spent: true }
  const waitMs = backoffMs(continues ? job.attempts : job.lostRuns + 1, jitter)
  return { status: 'queued', spent: !continues, availableAtMs: nowMs + waitMs }
}

/** What the owner's cancel does: end a queued job, ask the run of a running one to end (`wish`), or nothing. */
export function decideCancel({ status, cancelRequested }: RunState): RunEnd | 'wish' | 'nothing' {
  if (status === 'queued') return cancel(canceledError)
  return status === 'running' && !cancelRequested ? 'wish' : 'nothing'
}

/** What becomes of a queued job whose deadline has passed; one that waits for a retry had begun before. */
export function decideDeadline({ startedAtMs }: RunState): RunEnd {
  return startedAtMs === null ? { status: 'expired', error: expiredError, spent: false } : cancel(deadlineError)
}

/** The transition of a job under review when more is known: another run takes over, or it fails. Null if it stays under review. */
export function decideReconciled(
  job: RunState,
  found: { readonly afterLoss: AfterLoss } | { readonly error: JobError },
  nowMs: number,
): RunEnd | null {
  if (job.status !== 'needs_review') return null
  if ('error' in found) return { status: 'failed', error: found.error, spent: false }
  if (found.afterLoss === 'never') return null
  if (isPassed(job, nowMs)) return { status: 'failed', error: deadlineError, spent: false }
  // A job that only polls another server need not wait.
  if (found.afterLoss === 'continue') return { status: 'queued', spent: false, availableAtMs: null }
  // Its submission is lost, so it counts as a failed run.
  if (job.lostRuns + 1 >= job.maxAttempts) return { status: 'failed', error: submissionLostError, spent: true }
  return { status: 'queued', spent: true, availableAtMs: nowMs + backoffMs(job.attempts, 1) }
}

/** What becomes of a job that is under review for `code`, when an operator charges or releases it, or when its time is over. */
export function decideReview(creditsActual: number, code: string | null): RunEnd {
  if (creditsActual > 0) return { status: 'succeeded', creditsActual }
  return { status: 'failed', error: releasedError(code), spent: false }
}

/** Whether the deadline of the job has passed. */
export function isPassed({ deadlineAtMs }: Pick<RunState, 'deadlineAtMs'>, nowMs: number): boolean {
  return deadlineAtMs !== null && deadlineAtMs <= nowMs
}

function mayTryAgain(job: RunState, availableAtMs: number): boolean {
  const { afterLoss, cancelRequested, lostRuns, maxAttempts } = job
  return afterLoss !== 'never' && !cancelRequested && lostRuns + 1 < maxAttempts && !isPassed(job, availableAtMs)
}

/** The end that the owner wanted, if any. */
function wanted(job: RunState, nowMs: number): RunEnd | null {
  if (job.cancelRequested) return cancel(canceledError)
  return isPassed(job, nowMs) ? cancel(deadlineError) : null
}

function unknown({ afterLoss }: RunState): RunEnd | null {
  return afterLoss === 'never' ? review() : null
}

function review(): RunEnd {
  return { status: 'needs_review', error: unknownOutcomeError }
}

function cancel(error: JobError): RunEnd {
  return { status: 'canceled', error, spent: false }
}
