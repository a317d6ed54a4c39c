// What is written at the end of a job: the resolution of its hold, and the account's new position in the queue. Pure.
import type { Asset } from '../files/asset.ts'
import { leavePosition, newQueue, type QueueShare } from '../jobs/fair-queue.ts'
import { type Job, type JobError, mayFollow } from '../jobs/job.ts'
import type { MadeBy } from '../jobs/reproduction.ts'
import type { RunEnd } from '../jobs/run-end.ts'
import { type Balance, isCredits, settle, type Settlement } from './ledger.ts'

/** How a job ends. */
export type Ending = Exclude<RunEnd, { status: 'queued' | 'needs_review' }>

/** What a store has to load. */
export interface SettlementState {
  readonly job: Pick<
    Job,
    'jobId' | 'status' | 'progress' | 'creditsHeld' | 'createdAtMs' | 'startedAtMs' | 'finishedAtMs'
  >
  /** Null if there is none. */
  readonly account: Balance | null
  /** The queue of the model, for the account; null when the model has none. */
  readonly share: QueueShare | null
}

/** What it writes; the job has no worker, no lease, no checkpoint and no wait after that. */
export interface SettlementWrites extends Settlement {
  readonly status: Ending['status']
  readonly progress: number
  readonly finishedAtMs: number
  /** Null keeps those that the job has. */
  readonly outputs: readonly Asset[] | null
  readonly madeBy: MadeBy | null
  readonly error: JobError | null
  /** Runs that were lost or failed, to be added. */
  readonly spentRuns: number
  /** Where the account's jobs end in the queue now; null when this one had its turn. */
  readonly finish: number | null
}

/** Decides what the end of a job writes. */
export function decideSettlement(
  { job, account, share }: SettlementState,
  end: Ending,
  nowMs: number,
): SettlementWrites {
  const { jobId, creditsHeld } = job
  if (!mayFollow(job.status, end.status))
    throw new Error(`job ${jobId} is ${job.status} and cannot become ${end.status}`)
  if (account === null) throw new Error(`job ${jobId} belongs to no account`)
  const succeeded = end.status === 'succeeded'
  const creditsActual = succeeded ? end.creditsActual : 0
  if (!isCredits(creditsActual)) throw new RangeError('creditsActual must be a whole number from 0')
  const neverRan = job.status === 'queued' && job.startedAtMs === null
  return {
    ...settle(account, creditsHeld, creditsActual),
    status: end.status,
    progress: succeeded ? 1 : job.progress,
    // The times of a record stay in order even if the clock goes back.
    finishedAtMs: Math.max(nowMs, job.finishedAtMs ?? job.startedAtMs ?? job.createdAtMs),
    outputs: (succeeded && end.outputs) || null,
    madeBy: (succeeded && end.madeBy) || null,
    error: succeeded ? null : end.error,
    spentRuns: !succeeded && end.spent ? 1 : 0,
    finish: neverRan ? leavePosition(share ?? newQueue, creditsHeld) : null,
  }
}
