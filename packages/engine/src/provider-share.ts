// What all workers of an installation share of a provider of media: runs at a time, the pace of submissions, pauses that it
// asked for, and what it told our webhook.

/** A submission that wants to be made. */
export interface ProviderEntry {
  /** The catalog's name. */
  readonly provider: string
  readonly jobId: string
  /** Runs at a time; null for any number. */
  readonly concurrency: number | null
  /** Submissions a minute, evenly spaced; null for any number. */
  readonly perMinute: number | null
  /** The run counts for this long at most, in case nobody says that it is over. */
  readonly longestMs: number
}

/** A submission whose answer was lost. */
export interface FoundSubmission {
  readonly jobId: string
  readonly n: number
  readonly provider: string
  readonly upstreamId: string
}

/** Shares providers among workers. */
export interface ProviderStore {
  /** Counts the submission if it may be made now, and then resolves to 0; else to the milliseconds until it is worth asking again. */
  enterProvider(entry: ProviderEntry): Promise<number>
  /** The run is over. One that never entered may leave. */
  leaveProvider(provider: string, jobId: string): Promise<void>
  /** Nothing is submitted for so long; a pause that lasts longer stays. */
  pauseProvider(provider: string, ms: number): Promise<void>
  /**
   * Keeps the id that a provider gave the `n`th submission of a job, when its answer was lost. False if the submission has
   * another id, or the id is another job's.
   */
  findSubmission(found: FoundSubmission): Promise<boolean>
  /** That id; null if it was not found. */
  foundSubmission(jobId: string, n: number): Promise<string | null>
  /** Whether another job was submitted under this id. */
  isUpstreamTaken(provider: string, upstreamId: string, jobId: string): Promise<boolean>
}
