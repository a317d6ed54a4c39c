// Draft pictures of a run: stored one at a time while it goes on, and removed when it ends.
import { basename } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createRound } from '../../core/round.ts'
import type { Attempt, Drafts } from '../attempt.ts'
import { openOutputFolder } from './outputs.ts'

// Each draft is an event for everyone who watches.
const betweenMs = 500

/** Creates the drafts of a run. A file that is not a picture, or cannot be stored, is skipped. */
export function createDrafts(attempt: Attempt): Drafts {
  const { claimed, deps } = attempt
  const { job, token } = claimed
  const over = new AbortController()
  const stored: string[] = []
  let next: string | null = null
  let count = 0

  async function showNext(): Promise<void> {
    const file = next
    next = null
    if (file === null || over.signal.aborted) return
    const run = `${job.jobId}-${job.attempts}-${(count += 1)}`
    stored.push(run)
    const path = (await openOutputFolder(attempt)).pathOf(file)
    const asset = await deps.assets.put(run, 0, path, { owner: job.accountId, signal: over.signal })
    await deps.store.showPreview(job.jobId, token, asset.previewKey ?? asset.key)
    // A client may still be reading the previous draft.
    if (stored.length > 2) await deps.assets.remove(stored.shift() ?? '')
    await pause(betweenMs, undefined, { signal: over.signal }).catch(() => {})
  }

  const showing = createRound(showNext, (error) => {
    if (!over.signal.aborted) deps.log.debug({ err: error, job_id: job.jobId }, 'a draft could not be shown')
  })
  return {
    show(file) {
      if (file !== basename(file) || over.signal.aborted) return
      next = file
      showing.again()
    },
    async clear() {
      over.abort()
      await showing.settled()
      for (const run of stored) await deps.assets.remove(run)
    },
  }
}
