// A job: its record, its states and their transitions. docs/contract.md, section 1.
import type { AfterLoss, JsonObject, JsonValue, UpstreamRun } from '@mediagen/engine/engine.ts'
import type { Asset } from '../files/asset.ts'
import type { TraceContext } from '../traces.ts'
import type { Labels } from './labels.ts'
import type { MadeBy } from './reproduction.ts'

export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled' | 'expired' | 'needs_review'

/** States that end a client's wait. */
export const terminalStatuses = [
  'succeeded',
  'failed',
  'canceled',
  'expired',
  'needs_review',
] as const satisfies readonly JobStatus[]

/** Every state, in the order of a job's life. */
export const jobStatuses = ['queued', 'running', ...terminalStatuses] as const satisfies readonly JobStatus[]

const followers = {
  queued: ['running', 'canceled', 'expired'],
  running: ['succeeded', 'failed', 'canceled', 'queued', 'needs_review'],
  needs_review: ['succeeded', 'failed', 'queued'],
  succeeded: [],
  failed: [],
  canceled: [],
  expired: [],
} as const satisfies Record<JobStatus, readonly JobStatus[]>

/** Whether a job in state `from` may go to state `to`. */
export function mayFollow(from: JobStatus, to: JobStatus): boolean {
  return (followers[from] as readonly JobStatus[]).includes(to)
}

/** Whether the state ends a client's wait. */
export function isTerminal(status: JobStatus): boolean {
  return status !== 'queued' && status !== 'running'
}

export interface JobError {
  /** Stable name of the failure. */
  readonly code: string
  readonly message: string
  /** Whether a new generation with the same input may succeed. */
  readonly retryable: boolean
}

/** One generation, as the store keeps it. Credits are whole numbers, times are milliseconds since 1970. */
export interface Job {
  readonly jobId: string
  readonly accountId: string
  /** The key that started it, and what its owner calls it. */
  readonly keyId: string
  readonly keyName: string | null
  readonly status: JobStatus
  readonly model: string
  readonly quoteId: string
  /** 0 … 1; never goes backwards within an attempt; 1 exactly when succeeded. */
  readonly progress: number
  /** Credits quoted, and held from start to end. */
  readonly creditsHeld: number
  readonly creditsCharged: number
  readonly creditsReleased: number
  readonly outputs: readonly Asset[]
  /** When its output files are removed; null while it has none, or if they are kept for ever. */
  readonly outputsExpireAtMs: number | null
  /** Whether they were removed. */
  readonly outputsGone: boolean
  /** When its owner deleted it: its outputs and its input are gone, and lists leave it out. */
  readonly deletedAtMs: number | null
  readonly error: JobError | null
  /** Number of runs begun. */
  readonly attempts: number
  readonly createdAtMs: number
  readonly startedAtMs: number | null
  readonly finishedAtMs: number | null
  /** Whether its owner requested cancellation while it ran. */
  readonly cancelRequested: boolean
  /** The key of a draft picture while it runs. */
  readonly previewKey: string | null
  /** The provider whose server made it; null before it succeeded, and for what this server made itself. */
  readonly servedBy: string | null
  /** What made its outputs; null before it succeeded, and if a program made them that did not say so yet. */
  readonly madeBy: MadeBy | null
  /** What its client calls it by, as the start said. */
  readonly labels: Labels
  /** Number of the last change, growing from 1 within the job. */
  readonly sequence: number
  /** Position in its model's queue when it was read, 1 for the next; `lastQueuePosition` means that or later. Null unless queued. */
  readonly queuePosition: number | null
}

/** A job with the fields that only an operator sees. */
export interface OperatorJob {
  readonly job: Job
  /** −10 … 0 */
  readonly priority: number
  /** Deadline: a queued job then expires, a running one is canceled. Null for none. */
  readonly deadlineAtMs: number | null
  /** What becomes of it when its run is lost. */
  readonly afterLoss: AfterLoss
  /** Number of runs that may be lost or fail. */
  readonly maxAttempts: number
  /** Runs that were lost, or failed in a way that may pass. */
  readonly lostRuns: number
  /** When it may be tried again; null when it need not wait. */
  readonly availableAtMs: number | null
  /** The worker that runs it. */
  readonly worker: string | null
  /** End of its worker's lease without another heartbeat. */
  readonly leaseUntilMs: number | null
  /** Its submissions to other servers. */
  readonly upstreamRuns: readonly RecordedUpstreamRun[]
}

/** A submission to another server, with its times. */
export interface RecordedUpstreamRun extends UpstreamRun {
  readonly submittedAtMs: number
  /** Null while it may still run there. */
  readonly endedAtMs: number | null
}

/** A price of usage, complete: nothing of the catalog is needed to compute it, so a later change of the catalog does not alter it. */
export interface UsagePrice {
  /** CEL */
  readonly expression: string
  /** The fields of the input that the expression reads. */
  readonly input: JsonObject
}

export interface ClaimedJob {
  readonly job: Job
  /** Where its start is in a trace; null without traces. */
  readonly trace: TraceContext | null
  /** With what the start added to it. */
  readonly input: JsonObject
  readonly checkpoint: JsonValue
  /** How to treat the previous run: `continue` when its submission to another server is still open. */
  readonly afterLoss: AfterLoss
  /** Time since the first submission; null without one. */
  readonly msSinceSubmission: number | null
  /** The price of its usage as promised when it started; null when the price is fixed. */
  readonly usagePrice: UsagePrice | null
  /** Fencing token of the claim: a report with an older token changes nothing. */
  readonly token: number
  /** How long it may run before its deadline, by the clock of the store; null without one. */
  readonly msToDeadline: number | null
}

export type JobOutcome =
  | {
      readonly status: 'succeeded'
      readonly outputs: readonly Asset[]
      readonly creditsActual: number
      readonly madeBy?: MadeBy
    }
  | { readonly status: 'canceled'; readonly error: JobError }
  /** `jitter`, 0 … 1, is given when another run may succeed: it spreads the wait for it. */
  | { readonly status: 'failed'; readonly error: JobError; readonly jitter?: number }
  /**
   * Nobody knows whether another server accepted it; or its work is done (`outputs`, as far as they are there), and its price is not
   * known, or what `error` says.
   */
  | { readonly status: 'needs_review'; readonly outputs?: readonly Asset[]; readonly error?: JobError }
  /**
   * The worker gives the job back unfinished: it stops, or this machine lacks something that the run needs (`hindered`), which
   * then waits a while. It is queued again if its engine lets it, else it goes to review. After a restore (`isRestored`) that comes
   * before a cancel or a deadline: the run may have been paid since the backup.
   */
  | { readonly status: 'queued'; readonly hindered?: boolean; readonly isRestored?: boolean }

/** The `credits` of the record: the hold while the job is active, the charge once it is terminal. */
export function creditsShown(job: Job): number {
  return job.creditsHeld - job.creditsReleased
}

/** Whether the hold of the job is resolved: what it cost is final. */
export function isSettled({ status }: Pick<Job, 'status'>): boolean {
  return isTerminal(status) && status !== 'needs_review'
}
