// What waits in an installation, for its operators.

/** What waits, counted over all processes. */
export interface Backlog {
  /** Models with jobs that a worker could take now: their number, and how long ago the first of them was queued. */
  readonly queued: readonly { readonly model: string; readonly jobs: number; readonly oldestMs: number }[]
  /** Queued jobs that no worker may take yet: they wait for a retry, or for another server. */
  readonly delayed: number
  /** Jobs that run, in all processes together. */
  readonly running: number
  /** Jobs under review, and how long the first has been. */
  readonly reviews: number
  readonly oldestReviewMs: number
  /** Webhook deliveries that are neither made nor given up, and how long the one that has been due the longest waits for an attempt. */
  readonly deliveries: number
  readonly overdueMs: number
}
