// Distributes changes of jobs to their watchers: one read of a job per change, for all its watchers.
import { MediagenError } from '../core/errors.ts'
import type { JobFeed } from '../core/feed.ts'
import { isTerminal, type Job } from '../core/job.ts'
import { createRound } from '../runtime/round.ts'
import type { Store } from '../core/store.ts'

// The store reports changes by this process; changes by other processes are polled this often.
const lookIntervalMs = 500
const retryShutdownSeconds = 2

type Listener = (job: Job) => void

/** A feed over a store. */
export interface StoreFeed extends JobFeed {
  /** Answers all waits, ends all watches, and accepts no more. */
  stop(): void
}

/** Starts a feed. */
export async function startFeed(store: Pick<Store, 'getJob' | 'onJobsChanged' | 'changeCounter'>): Promise<StoreFeed> {
  const watched = new Map<string, Set<Listener>>()
  /** Called when the feed stops; a set, because ten thousand may wait and each must be removed cheaply. */
  const sleepers = new Set<() => void>()
  let stopped = false
  let seenCounter = await store.changeCounter()

  async function tell(jobId: string): Promise<void> {
    if (!watched.has(jobId)) return
    const job = await store.getJob(null, jobId)
    if (job) for (const listener of watched.get(jobId) ?? []) listener(job)
  }

  function tellSoon(jobId: string): void {
    tell(jobId).catch(() => {
      // The read failed; watchers are notified by the next poll.
      seenCounter = Number.NaN
    })
  }

  const ignoreChanges = store.onJobsChanged((jobIds) => {
    for (const jobId of jobIds) tellSoon(jobId)
  })
  async function look(): Promise<void> {
    if (watched.size === 0) return
    const counter = await store.changeCounter()
    if (counter === seenCounter) return
    seenCounter = counter
    for (const jobId of watched.keys()) tellSoon(jobId)
  }
  // A failed poll is repeated by the timer.
  const looking = createRound(look, () => {})
  const timer = setInterval(() => looking.again(), lookIntervalMs)
  timer.unref()

  function listen(jobId: string, listener: Listener): () => void {
    let listeners = watched.get(jobId)
    if (!listeners) watched.set(jobId, (listeners = new Set()))
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && watched.get(jobId) === listeners) watched.delete(jobId)
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
        if (!now || isTerminal(now.status)) return now
        if (!signal.aborted && !stopped) await ended
        return latest ?? (await store.getJob(accountId, jobId))
      } finally {
        clearTimeout(timer)
        sleepers.delete(wake)
        signal.removeEventListener('abort', wake)
        ignore()
      }
    },

    stop() {
      stopped = true
      clearInterval(timer)
      ignoreChanges()
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
  let news = Promise.withResolvers<void>()
  return {
    put(job) {
      if (latest && latest.sequence >= job.sequence) return
      latest = job
      news.resolve()
    },
    take() {
      const job = latest
      latest = null
      news = Promise.withResolvers()
      return job
    },
    arrival: () => news.promise,
    wake: () => news.resolve(),
  }
}
