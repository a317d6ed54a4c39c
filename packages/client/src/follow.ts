// Follows a job to its end: by server-sent events, again after a lost line, and by reading the record where no events come.
import { Refused, Unreachable } from './errors.ts'
import { readEvents } from './events.ts'
import type { Http } from './http.ts'
import { isTerminal, type Job } from './records.ts'

/** How a job is followed. */
export interface FollowOptions {
  /** Told each change of the record. */
  readonly onJob?: ((job: Job) => void) | undefined
  /** Ends the wait; the job goes on. */
  readonly signal?: AbortSignal | undefined
}

const againMs = 1000
// A server that cannot be reached for so long is given up.
const mostFailures = 60

/**
 * Waits until the job has ended, and returns its last record.
 * @throws Refused if it may not be read; Unreachable if the server stays away for a minute; what `signal` was aborted with
 */
export async function followJob(http: Http, jobId: string, options: FollowOptions = {}): Promise<Job> {
  const { onJob, signal } = options
  const path = `/v1/jobs/${encodeURIComponent(jobId)}`
  let lastId = ''
  let failures = 0
  for (;;) {
    let job: Job | null = null
    try {
      const headers = { accept: 'text/event-stream', ...(lastId && { 'last-event-id': lastId }) }
      const { body } = await http.open(`${path}/events`, { headers, signal })
      for await (const { type, data, id } of readEvents(body ?? new ReadableStream())) {
        failures = 0
        lastId = id
        if (type !== 'job') continue
        job = JSON.parse(data) as Job
        onJob?.(job)
        if (isTerminal(job)) return job
      }
      // The line was lost, or a proxy lets no events through.
      job = await http.json<Job>(path, { signal })
      if (isTerminal(job)) return job
    } catch (error) {
      signal?.throwIfAborted()
      failures += 1
      if (failures >= mostFailures || isFinal(error)) throw error
    }
    await pause(againMs, signal)
  }
}

/** Whether trying again cannot help. */
function isFinal(error: unknown): boolean {
  return error instanceof Refused && !error.problem.retryable
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
      const mayPass = error instanceof Unreachable || (error instanceof Refused && error.problem.retryable)
      if (!mayPass || pauseMs === undefined) throw error
      const asked = error instanceof Refused ? (error.retryAfterSeconds ?? 0) * 1000 : 0
      await pause(Math.max(pauseMs, asked), signal)
    }
  }
}

/** @throws what `signal` was aborted with */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  const end = (): void => reject(signal?.reason as Error)
  if (signal?.aborted) end()
  signal?.addEventListener('abort', end, { once: true })
  return promise.finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
  })
}
