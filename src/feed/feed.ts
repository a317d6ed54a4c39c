// Distributes changes of jobs to their watchers: one read of a job per change, for all its watchers.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { MediagenError } from '../core/errors.ts'
import type { JobFeed } from '../core/jobs/feed.ts'
import { isTerminal, type Job } from '../core/jobs/job.ts'
import { createRound } from '../core/round.ts'
import type { Store } from '../core/store.ts'
import { createAllJobs } from './all-jobs.ts'

// Notifications may be lost, so all watched jobs are compared with the store at this interval, this many in one read.
const lookIntervalMs = 2000
const jobsPerRead = 500
const retryShutdownSeconds = 2

type Listener = (job: Job) => void

/** Who watches a job. */
interface Watched {
  readonly listeners: Set<Listener>
  /** The change that they know. */
  sequence: number
}

/** A feed over a store. */
export interface StoreFeed extends JobFeed {
  /** Answers all waits, ends all watches, and accepts no more. */
  stop(): void
}

/** Starts a feed. */
export function startFeed(store: Pick<Store, 'getJob' | 'readSequences' | 'onNotification'>): StoreFeed {
  const watched = new Map<string, Watched>()
  /** Called when the feed stops; a set, because ten thousand may wait and each must be removed cheaply. */
  const sleepers = new Set<() => void>()
  const allJobs = createAllJobs(store)
  let stopped = false

  function tell(job: Job | null): void {
    const found = job && watched.get(job.jobId)
    if (!found || job.sequence <= found.sequence) return
    found.sequence = job.sequence
    for (const listener of found.listeners) listener(job)
  }

  function read(jobId: string): void {
    if (!watched.has(jobId)) return
    // If this fails, the next comparison finds the change.
    store.getJob(null, jobId).then(tell, () => {})
  }

  /** Reads the watched jobs that have changed. */
  async function compare(): Promise<void> {
    const jobIds = [...watched.keys()]
    for (let from = 0; from < jobIds.length; from += jobsPerRead) {
      if (stopped) return
      const sequences = await store.readSequences(jobIds.slice(from, from + jobsPerRead))
      for (const [jobId, sequence] of sequences) if (sequence > (watched.get(jobId)?.sequence ?? Infinity)) read(jobId)
      await nextTurn()
    }
  }

  // A failed comparison is repeated by the timer.
  const comparing = createRound(compare, () => {})
  const ignoreNotifications = store.onNotification((jobs) => {
    allJobs.note(jobs)
    if (watched.size === 0) return
    if (jobs === null) return comparing.again()
    for (const { jobId, job } of jobs)
      if (job) tell(job)
      else read(jobId)
  })
  const timer = setInterval(() => comparing.again(), lookIntervalMs)
  timer.unref()

  function listen(jobId: string, listener: Listener): () => void {
    let found = watched.get(jobId)
    if (!found) watched.set(jobId, (found = { listeners: new Set(), sequence: 0 }))
    const { listeners } = found
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && watched.get(jobId)?.listeners === listeners) watched.delete(jobId)
    }
  }

  return {
    async watch(accountId, jobId, signal) {
      const mailbox = createMailbox()
      const ignore = listen(jobId, mailbox.put)
      // Listen before reading, so no change is missed between the two.
      const now = await store.getJob(accountId, jobId).catch((error: unknown) => {
        ignore()
        throw error
      })
      if (!now) {
        ignore()
        return null
      }
      tell(now)
      mailbox.put(now)
      return follow(mailbox, signal, ignore)
    },

    async awaitEnd(accountId, jobId, timeoutMs, signal) {
      let latest: Job | null = null
      const { promise: ended, resolve: end } = Promise.withResolvers<void>()
      const wake = (): void => end()
      const ignore = listen(jobId, (job) => {
        latest = job
        if (isTerminal(job.status)) end()
      })
      const timer = setTimeout(wake, timeoutMs)
      sleepers.add(wake)
      signal.addEventListener('abort', wake)
      try {
        const now = await store.getJob(accountId, jobId)
        tell(now)
        if (!now || isTerminal(now.status)) return now
        if (!signal.aborted && !stopped) await ended
        // A server that stops answers at once; its worker may be giving the job back.
        return latest ?? (stopped ? now : await store.getJob(accountId, jobId))
      } finally {
        clearTimeout(timer)
        sleepers.delete(wake)
        signal.removeEventListener('abort', wake)
        ignore()
      }
    },

    watchAll: allJobs.watch,

    stop() {
      stopped = true
      allJobs.stop()
      clearInterval(timer)
      ignoreNotifications()
      for (const wake of sleepers) wake()
    },
  }

  async function* follow(mailbox: Mailbox, signal: AbortSignal, ignore: () => void): AsyncGenerator<Job> {
    let sequence = -1
    sleepers.add(mailbox.wake)
    signal.addEventListener('abort', mailbox.wake)
    try {
      while (!signal.aborted) {
        const job = mailbox.take()
        if (job && job.sequence > sequence) {
          sequence = job.sequence
          yield job
          if (isTerminal(job.status)) return
        } else if (stopped) {
          throw new MediagenError('shutting_down', 'This server is stopping. Watch the job again elsewhere or later.', {
            retryAfterSeconds: retryShutdownSeconds,
          })
        } else {
          await mailbox.arrival()
        }
      }
    } finally {
      sleepers.delete(mailbox.wake)
      signal.removeEventListener('abort', mailbox.wake)
      ignore()
    }
  }
}

/** Holds only the latest job, so a slow reader costs no memory. */
interface Mailbox {
  put(job: Job): void
  /** The latest job that was not read yet. */
  take(): Job | null
  /** Resolves when there is an unread job, or at `wake`. */
  arrival(): Promise<void>
  wake(): void
}

function createMailbox(): Mailbox {
  let latest: Job | null = null
  let notifications = Promise.withResolvers<void>()
  return {
    put(job) {
      if (latest && latest.sequence >= job.sequence) return
      latest = job
      notifications.resolve()
    },
    take() {
      const job = latest
      latest = null
      notifications = Promise.withResolvers()
      return job
    },
    arrival: () => notifications.promise,
    wake: () => notifications.resolve(),
  }
}
