// A job: its record, its states, and which state may follow which. docs/contract.md, section 1.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import type { Asset } from './asset.ts'

/** Where a job stands. */
export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'canceled' | 'expired' | 'needs_review'

/** States that a waiting client need not wait beyond. */
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
  needs_review: ['succeeded', 'failed'],
  succeeded: [],
  failed: [],
  canceled: [],
  expired: [],
} as const satisfies Record<JobStatus, readonly JobStatus[]>

/** Whether a job in state `from` may go to state `to`. */
export function mayFollow(from: JobStatus, to: JobStatus): boolean {
  return (followers[from] as readonly JobStatus[]).includes(to)
}

/** Whether a client that waits for the job has its answer. */
export function isTerminal(status: JobStatus): boolean {
  return status !== 'queued' && status !== 'running'
}

/** Why a job did not succeed. */
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
  /** When the files of its outputs go; null while it has none, and when they are kept for ever. */
  readonly outputsExpireAtMs: number | null
  /** Whether they are gone. */
  readonly outputsGone: boolean
  readonly error: JobError | null
  /** How often a run was begun. */
  readonly attempts: number
  readonly createdAtMs: number
  readonly startedAtMs: number | null
  readonly finishedAtMs: number | null
  /** Whether its owner asked to cancel while it ran. */
  readonly cancelRequested: boolean
  /** Number of the last change, growing from 1 within the job. */
  readonly sequence: number
  /** Place in the queue of its model when it was read, 1 for the next; `lastQueuePosition` means that or beyond. Null unless queued. */
  readonly queuePosition: number | null
}

/** A job with what only an operator sees of it. */
export interface OperatorJob {
  readonly job: Job
  /** −10 … 0 */
  readonly priority: number
  /** When it is canceled or expires by itself. */
  readonly deadlineAtMs: number | null
  /** Whether it is run again when its worker is lost. */
  readonly resumable: boolean
  /** So many runs may be lost. */
  readonly maxAttempts: number
  /** Runs whose worker was lost. */
  readonly lostRuns: number
  /** When it may be tried again; null when it need not wait. */
  readonly availableAtMs: number | null
  /** Who runs it. */
  readonly worker: string | null
  /** How long its worker has it without a heartbeat. */
  readonly leaseUntilMs: number | null
}

/** A job that was handed to a worker. */
export interface ClaimedJob {
  readonly job: Job
  readonly input: JsonObject
  readonly checkpoint: JsonValue
  /** Fences the claim: whoever reports with an older token changes nothing. */
  readonly token: number
  /** How long it may run before its deadline, by the clock of the store; null without one. */
  readonly msToDeadline: number | null
}

/** How a run ended. */
export type JobOutcome =
  | { readonly status: 'succeeded'; readonly outputs: readonly Asset[]; readonly creditsActual: number }
  | { readonly status: 'failed' | 'canceled'; readonly error: JobError }
  /** The worker stops and gives the job back unfinished. It is queued again when that does no harm, and goes to review when it may. */
  | { readonly status: 'queued' }

/** What `credits` of the record shows: what is held while the job is active, what was charged once it is terminal. */
export function creditsShown(job: Job): number {
  return job.creditsHeld - job.creditsReleased
}
