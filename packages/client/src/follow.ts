// Follows a job to its end: by server-sent events, again after a lost line, and by reading the record where no events come.
import { mayPass, Refused } from './errors.ts'
import { readEvents } from './events.ts'
import type { Http } from './http.ts'
import { toJobPath } from './paths.ts'
import { isOlder, isTerminal, type Job } from './records.ts'

/** How a job is followed. */
export interface FollowOptions {
  /** Told each change of the record. */
  readonly onJob?: ((job: Job) => void) | undefined
  /** Ends the wait; the job goes on. */
  readonly signal?: AbortSignal | undefined
  /** So many failures in a row end the wait, at least a second apart. Default: 60. */
  readonly maxFailures?: number | undefined
}

const againMs = 1000
// A job's place in the queue changes without an event of the job.
const placeMs = 5000

/**
 * Waits until the job has ended, and returns its last record.
 * @throws Refused if it may not be read; Unreachable if the server stays away; what `signal` was aborted with
 */
export async function followJob(http: Http, jobId: string, options: FollowOptions = {}): Promise<Job> {
  const { onJob, signal, maxFailures = 60 } = options
  const path = toJobPath(jobId)
  let latest: Job | null = null
  let lastId = ''
  let failures = 0
  function take(job: Job): void {
    if (latest && isOlder(job, latest)) return
    latest = job
    onJob?.(job)
  }
  const place = setInterval(() => {
    if (latest?.status === 'queued') http.json<Job>(path, { signal }).then(take, () => {})
  }, placeMs)
  /** Takes events until one says that the job has ended, which it returns, or the stream breaks off. */
  async function watch(): Promise<Job | null> {
    const headers = { accept: 'text/event-stream', ...(lastId && { 'last-event-id': lastId }) }
    const { body } = await http.open(`${path}/events`, { headers, signal })
    for await (const { type, data, id } of body ? readEvents(body) : []) {
      failures = 0
      lastId = id
      if (type !== 'job') continue
      const job = JSON.parse(data) as Job
      take(job)
      if (isTerminal(job)) return job
    }
    return null
  }
  try {
    for (;;) {
      let pauseMs = againMs
      try {
        const ended = await watch().catch((error: unknown) => {
          if (!(error instanceof Refused) || isFinal(error)) throw error
          pauseMs = toPauseMs(error, againMs)
          return null
        })
        if (ended) return ended
        // The connection was lost, a proxy lets no events through, or too many jobs are watched already.
        const job = await http.json<Job>(path, { signal })
        failures = 0
        take(job)
        if (isTerminal(job)) return job
      } catch (error) {
        signal?.throwIfAborted()
        failures += 1
        if (failures >= maxFailures || isFinal(error)) throw error
        pauseMs = toPauseMs(error, pauseMs)
      }
      await pause(pauseMs, signal)
    }
  } finally {
    clearInterval(place)
  }
}

/** Whether trying again cannot help. */
function isFinal(error: unknown): boolean {
  return error instanceof Refused && !error.problem.retryable
}

/** How long to wait after an error: as long as the server asks, if that is longer. */
function toPauseMs(error: unknown, leastMs: number): number {
  const asked = error instanceof Refused ? (error.retryAfterSeconds ?? 0) * 1000 : 0
  return Math.max(leastMs, asked)
}

/** Repeats what is safe to repeat, as long as no answer comes or the server says that a later try may succeed. */
export async function repeat<Answer>(
  attempt: () => Promise<Answer>,
  signal: AbortSignal | undefined,
  pausesMs: readonly number[] = [500, 1500, 4000],
): Promise<Answer> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt()
    } catch (error) {
      const pauseMs = pausesMs[tries]
      if (!mayPass(error) || pauseMs === undefined) throw error
      await pause(toPauseMs(error, pauseMs), signal)
    }
  }
}

/** @throws what `signal` was aborted with */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}
