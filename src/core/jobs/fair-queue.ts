// The order of a model's queue: start-time fair queuing over accounts, weighted by credits (Goyal, Vin and Cheng, 1996).
// A job's key is computed when it is queued, so a claim is one index look-up.

/** Bounds of a start's priority. A priority can only yield, never overtake. */
export const priorityRange = { least: -10, most: 0 } as const

/** Longest deadline of a job, in seconds: seven days. */
export const longestDeadlineSeconds = 604_800

/**
 * Positions are counted up to this number, which means "this or later".
 * Counting walks along an index for each queued record that is read.
 */
export const lastQueuePosition = 100

/** The state of a queue for one account when a job of it arrives. Virtual times are in credits, from 0. */
export interface QueueShare {
  /** The queue's virtual time: the key of the latest claimed job. */
  readonly virtualTime: number
  /** Virtual end of the account's last queued job; 0 for an account that is new to the queue. */
  readonly finish: number
}

/** A queue that nobody has used. */
export const newQueue: QueueShare = { virtualTime: 0, finish: 0 }

/** The weight of a job in its queue, in credits. A free job has a weight too. */
export function queueCost(credits: number): number {
  return Math.max(1, credits)
}

/**
 * The position of a new job: behind the account's own jobs, and never before the queue's virtual time.
 * The key is the virtual time at which the job begins, not ends, so the first job of an account is next whatever it costs.
 */
export function takePosition({ virtualTime, finish }: QueueShare, credits: number): { key: number; finish: number } {
  const key = Math.max(virtualTime, finish)
  return { key, finish: key + queueCost(credits) }
}

/** Virtual end of the account's last job after a job that never ran was removed: only served jobs count. */
export function leavePosition({ virtualTime, finish }: QueueShare, credits: number): number {
  return Math.max(virtualTime, finish - queueCost(credits))
}

/** A queued job that may be claimed. */
export interface Candidate {
  /** Sequence number of the queued job. */
  readonly number: number
  readonly priority: number
  readonly key: number
  /** Virtual time of its model's queue. */
  readonly virtualTime: number
}

/** Sorts candidates of one or several models into claiming order. Across models, keys compare by their lead over the queue's virtual time. */
export function compareCandidates(a: Candidate, b: Candidate): number {
  return b.priority - a.priority || a.key - a.virtualTime - (b.key - b.virtualTime) || a.number - b.number
}
