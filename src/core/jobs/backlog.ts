// What waits in an installation, for its operators.

/** The jobs of a model, in all processes together. */
export interface ModelBacklog {
  readonly model: string
  /** Those that a worker could take now, and how long ago the first of them was queued; 0 for none. */
  readonly queued: number
  readonly oldestMs: number
  /** Queued jobs that no worker may take yet: they wait for a retry, or for another server. */
  readonly delayed: number
  readonly running: number
}

/** What waits, counted over all processes. */
export interface Backlog {
  /** Models with jobs that are queued or run. */
  readonly models: readonly ModelBacklog[]
  /** Jobs under review, and how long the first has been. */
  readonly reviews: number
  readonly oldestReviewMs: number
  /** Webhook deliveries that are neither made nor given up, and how long the one that has been due the longest waits for an attempt. */
  readonly deliveries: number
  readonly overdueMs: number
}
