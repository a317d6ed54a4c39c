// Who is next: start-time fair queuing over the accounts that wait for one model, weighted by credits (Goyal, Vin and Cheng, 1996).
// The keys are made when a job is queued, so that claiming is one look at an index.

/** Bounds of a start's priority. No account can overtake others: a priority can only yield. */
export const priorityRange = { least: -10, most: 0 } as const

/** Longest time in which a job may have to be done, in seconds: seven days. */
export const longestDeadlineSeconds = 604_800

/**
 * Positions are counted so far and no further: this one means "this or beyond".
 * Counting is a walk along an index, done for each queued record that is read.
 */
export const lastQueuePosition = 100

/** What a queue knows of one account when a job of it arrives. Virtual times are credits, from 0. */
export interface QueueShare {
  /** Key of the latest job that was claimed: how far the queue has come. */
  readonly virtualTime: number
  /** Where the account's last queued job ends; 0 for an account that the queue has not met. */
  readonly finish: number
}

/** What a job weighs in its queue, in credits. A job that is free takes a place all the same. */
export function queueCost(credits: number): number {
  return Math.max(1, credits)
}

/**
 * The place of a new job: behind the account's own jobs, and never before what the queue has passed.
 * Key is where the job begins, not where it ends, so that the first job of an account is next whatever it costs.
 */
export function takePlace({ virtualTime, finish }: QueueShare, credits: number): { key: number; finish: number } {
  const key = Math.max(virtualTime, finish)
  return { key, finish: key + queueCost(credits) }
}

/** Where the account's last job ends once a job that never ran is gone: what was not served is not counted. */
export function leavePlace({ virtualTime, finish }: QueueShare, credits: number): number {
  return Math.max(virtualTime, finish - queueCost(credits))
}

/** A queued job that may be claimed. */
export interface Candidate {
  /** Order in which jobs were queued. */
  readonly number: number
  readonly priority: number
  readonly key: number
  /** How far the queue of its model has come. */
  readonly virtualTime: number
}

/** Sorts candidates of one or several models into the order in which they are claimed. Keys of two models compare by their lead. */
export function compareCandidates(a: Candidate, b: Candidate): number {
  return b.priority - a.priority || a.key - a.virtualTime - (b.key - b.virtualTime) || a.number - b.number
}
