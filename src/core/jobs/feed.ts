// The port to changes of jobs.
import type { Job } from './job.ts'

/** Jobs that changed. */
export interface ChangedJobs {
  /** As they are now, without positions in the queue; those that are gone are left out. */
  readonly jobs: readonly Job[]
  /** Whether others may have changed, too: there were too many, or another process changed them. */
  readonly more: boolean
}

export interface JobFeed {
  /**
   * Yields the job at once and after each change, and ends after its terminal state. A slow reader gets only the latest state.
   * Ends without a terminal job when `signal` aborts; null when the account has no such job.
   * @throws MediagenError `shutting_down` when the server stops first.
   */
  watch(accountId: string, jobId: string, signal: AbortSignal): Promise<AsyncIterable<Job> | null>
  /**
   * The job once it is terminal, or as it is when the time is up, `signal` aborts or the server stops.
   * Null when the account has no such job.
   */
  awaitEnd(accountId: string, jobId: string, timeoutMs: number, signal: AbortSignal): Promise<Job | null>
  /** Yields the jobs of all accounts that change from now on, in batches. Ends when `signal` aborts or the server stops. */
  watchAll(signal: AbortSignal): AsyncIterable<ChangedJobs>
}
