// The deletion of a job by its owner: its files and its input go, its record and its money stay. Pure.
import type { Job, JobStatus } from './job.ts'

export type DeleteOutcome =
  /** Now or earlier: deleting again changes nothing. */
  | { readonly outcome: 'deleted'; readonly deletedAtMs: number }
  | { readonly outcome: 'no_job' }
  /** It is queued, running or under review, so its files or its money are still open. */
  | { readonly outcome: 'not_ended'; readonly status: JobStatus }

/** Decides whether an account may delete a job. A store then marks its outputs as gone, with its input, as if they had expired. */
export function decideDeletion(
  job: Pick<Job, 'accountId' | 'status' | 'finishedAtMs' | 'deletedAtMs'> | null,
  accountId: string,
  nowMs: number,
): DeleteOutcome {
  if (job === null || job.accountId !== accountId) return { outcome: 'no_job' }
  const { status, finishedAtMs, deletedAtMs } = job
  if (finishedAtMs === null || status === 'needs_review') return { outcome: 'not_ended', status }
  // The times of a record stay in order even if the clock goes back.
  return { outcome: 'deleted', deletedAtMs: deletedAtMs ?? Math.max(nowMs, finishedAtMs) }
}
