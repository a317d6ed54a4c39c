// The port to changes of jobs.
import type { Job } from './job.ts'

/** Reports changes of jobs. */
export interface JobFeed {
  /**
   * The job at once, then after each change, and its end; a slow reader gets the latest state only.
   * Ends without a terminal job when `signal` aborts; null when the account has no such job.
   * @throws MediagenError `shutting_down` when the server stops first.
   */
  watch(accountId: string, jobId: string, signal: AbortSignal): Promise<AsyncIterable<Job> | null>
  /**
   * The job once it is terminal, or as it is when the time is up, `signal` aborts or the server stops.
   * Null when the account has no such job.
   */
  awaitEnd(accountId: string, jobId: string, timeoutMs: number, signal: AbortSignal): Promise<Job | null>
}
