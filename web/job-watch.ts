// Follows a job to its end: server-sent events with reconnection, and polling if events do not work.
import { type Api, Refusal } from './api.ts'
import { EventParser, readEvents } from './event-stream.ts'
import { isOlder, isTerminal } from './job-words.ts'
import type { JobRecord } from './records.ts'

const pollMs = 2000
const reconnectMs = 1000
// A job's place in the queue changes without an event of the job.
const placeMs = 5000
// After this many connections in a row without an event, polling is used instead.
const emptyConnections = 3

export interface WatchOptions {
  readonly onJob: (job: JobRecord) => void
  readonly signal: AbortSignal
  readonly sleep?: (ms: number) => Promise<void>
}

/**
 * Reports every change until the job is terminal or the signal aborts; returns the last record.
 * @throws Refusal if the job may not be read or does not exist
 */
export async function watchJob(
  api: Pick<Api, 'get' | 'open'>,
  jobId: string,
  options: WatchOptions,
): Promise<JobRecord | null> {
  const { onJob, signal, sleep = pause } = options
  const path = `/v1/jobs/${encodeURIComponent(jobId)}`
  let latest: JobRecord | null = null
  let lastEventId = ''
  let empty = 0
  const tell = (job: JobRecord): void => {
    if (latest && isOlder(job, latest)) return
    latest = job
    onJob(job)
  }

  const place = setInterval(() => {
    if (latest?.status === 'queued') void api.get<JobRecord>(path, { signal }).then(tell, () => {})
  }, placeMs)
  try {
    while (!signal.aborted) {
      let waitMs = pollMs
      if (empty < emptyConnections) {
        const parser = new EventParser()
        empty += 1
        try {
          const headers: Record<string, string> = {
            accept: 'text/event-stream',
            ...(lastEventId && { 'last-event-id': lastEventId }),
          }
          const { body } = await api.open(`${path}/events`, { headers, signal })
          for await (const event of readEvents(
            body ?? new ReadableStream({ start: (stream) => stream.close() }),
            parser,
          )) {
            lastEventId = event.lastEventId
            empty = 0
            if (event.type === 'job') tell(JSON.parse(event.data) as JobRecord)
          }
        } catch (error) {
          if (signal.aborted) break
          giveUpOn(error)
        }
        waitMs = parser.retryMs ?? reconnectMs
      }
      if (isDone(latest)) break
      // The stream ended early, or there is none: poll once, so nothing is missed in between.
      try {
        tell(await api.get<JobRecord>(path, { signal }))
      } catch (error) {
        if (signal.aborted) break
        giveUpOn(error)
      }
      if (isDone(latest)) break
      await sleep(waitMs)
    }
  } finally {
    clearInterval(place)
  }
  return latest
}

function isDone(job: JobRecord | null): boolean {
  return job !== null && isTerminal(job.status)
}

/** Rethrows permanent errors. */
function giveUpOn(error: unknown): void {
  if (error instanceof Refusal && error.problem.status < 500 && error.problem.status !== 429) throw error
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
