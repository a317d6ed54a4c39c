// Changes of all jobs for operators, in batches: a busy server costs a watcher no more than a few reads in each.
import { setTimeout as sleep } from 'node:timers/promises'
import type { ChangedJobs } from '../core/jobs/feed.ts'
import type { Job } from '../core/jobs/job.ts'
import type { JobNotification, Store } from '../core/store.ts'

// What changes meanwhile is sent together. More jobs than these are not named.
const batchMs = 500
const mostJobs = 100

/** What the next batch of a watcher has. */
interface Batch {
  /** By id; null for a job that is to be read. */
  readonly jobs: Map<string, Job | null>
  more: boolean
}

/** The watchers of all jobs. */
export interface AllJobs {
  note(jobs: readonly JobNotification[] | null): void
  watch(signal: AbortSignal): AsyncIterable<ChangedJobs>
  stop(): void
}

/** Creates the watchers; `note` is called with every notification of the store. */
export function createAllJobs(store: Pick<Store, 'getJob'>): AllJobs {
  const watchers = new Map<Batch, () => void>()
  const stopping = new AbortController()

  function add(batch: Batch, { jobId, job }: JobNotification): void {
    const known = batch.jobs.get(jobId)
    if (known === undefined && batch.jobs.size >= mostJobs) batch.more = true
    else batch.jobs.set(jobId, job)
  }

  async function read(batch: Batch): Promise<ChangedJobs> {
    const taken = [...batch.jobs]
    const { more } = batch
    batch.jobs.clear()
    batch.more = false
    const read = await Promise.all(taken.map(async ([jobId, job]) => job ?? (await store.getJob(null, jobId))))
    return { jobs: read.filter((job) => job !== null), more }
  }

  return {
    note(jobs) {
      for (const [batch, wake] of watchers) {
        if (jobs === null) batch.more = true
        else for (const each of jobs) add(batch, each)
        wake()
      }
    },

    watch(signal) {
      const batch: Batch = { jobs: new Map(), more: false }
      const ended = AbortSignal.any([signal, stopping.signal])
      let arrival = Promise.withResolvers<void>()
      const wake = (): void => arrival.resolve()
      // From here on, not from the first reading.
      watchers.set(batch, wake)
      const leave = (): void => {
        watchers.delete(batch)
        ended.removeEventListener('abort', leave)
        wake()
      }
      ended.addEventListener('abort', leave)
      async function* follow(): AsyncGenerator<ChangedJobs> {
        try {
          while (!ended.aborted) {
            await arrival.promise
            await sleep(batchMs, undefined, { signal: ended }).catch(() => {})
            arrival = Promise.withResolvers()
            if (!ended.aborted) yield await read(batch)
          }
        } finally {
          leave()
        }
      }
      if (ended.aborted) leave()
      return follow()
    },

    stop: () => stopping.abort(),
  }
}
