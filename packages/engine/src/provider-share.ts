// The state of a provider that all workers of an installation share: concurrent runs, the pace of submissions, pauses that it
// requested, and submissions that its callbacks named.

/** No submission waits longer for its answer, in milliseconds, unless it waits for the work itself. */
export const longestAnswerMs = 120_000

/** A submission that waits to be made. */
export interface ProviderEntry {
  /** The catalog's name. */
  readonly provider: string
  readonly jobId: string
  /** Maximum number of concurrent runs; null for no limit. */
  readonly concurrency: number | null
  /** Submissions per minute, evenly spaced; null for no limit. */
  readonly perMinute: number | null
  /** The run counts for this long at most, in case its end is never reported. */
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
  /** Counts the submission and resolves to 0 if it may be made now; else resolves to the milliseconds to wait before the next try. */
  enterProvider(entry: ProviderEntry): Promise<number>
  /** Ends the run; harmless for one that was not counted. */
  leaveProvider(provider: string, jobId: string): Promise<void>
  /** Pauses all submissions for this long, at most an hour; a longer pause stays. */
  pauseProvider(provider: string, ms: number): Promise<void>
  /**
   * Records the id that a provider gave the `n`th submission of a job, when its answer was lost. False if the submission has
   * another id, or the id is another job's.
   */
  findSubmission(found: FoundSubmission): Promise<boolean>
  /**
   * The same for an id that was only looked up. False, too, while the answer to another job's submission is awaited: the id may be
   * the one that it will bring.
   */
  adoptSubmission(found: FoundSubmission): Promise<boolean>
  /** That id; null if it was not found. */
  foundSubmission(jobId: string, n: number): Promise<string | null>
  /** Whether another job was submitted under this id. */
  isUpstreamTaken(provider: string, upstreamId: string, jobId: string): Promise<boolean>
}
