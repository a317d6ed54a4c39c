// The port to changes of jobs.
import type { Job } from './job.ts'

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
}
