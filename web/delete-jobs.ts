// Deletes generations, after a question in honest words.
import { Refused } from '@mediagen/client/errors.ts'
import { isTerminal } from '@mediagen/client/records.ts'
import type { Api } from './api.ts'
import { askFirst } from './dialog.ts'
import type { JobRecord } from './records.ts'

/** Whether its owner may delete a job: it has ended, and its money is settled. */
export function mayDelete(job: Pick<JobRecord, 'status' | 'deleted_at'>): boolean {
  return isTerminal(job) && job.status !== 'needs_review' && job.deleted_at === null
}

/** Asks the user; nothing can be undone later. */
export function askToDelete(count: number): Promise<boolean> {
  const [question, its] =
    count === 1 ? ['Delete this generation?', 'Its'] : [`Delete ${count.toLocaleString('en-US')} generations?`, 'Their']
  return askFirst(
    question,
    `${its} files and settings will be gone for good, and links to them will stop working. Queued generations that use these files will fail, and their credits will be returned. What was paid stays on record.`,
    { yes: 'Delete', no: count === 1 ? 'Keep it' : 'Keep them' },
  )
}

/** Deletes a job, waiting where the server asks for it. One that is gone already is fine. */
export async function deleteJob(api: Pick<Api, 'remove'>, jobId: string, signal?: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await api.remove(`/v1/jobs/${encodeURIComponent(jobId)}`, { ...(signal && { signal }) })
      return
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      if (error.code === 'job_not_found') return
      if (error.code !== 'rate_limited') throw error
      await new Promise((resolve) => setTimeout(resolve, (error.retryAfterSeconds ?? 1) * 1000))
    }
  }
}
