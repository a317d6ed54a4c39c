// Following a job: over events that break off, and without any.
import { Refused, Unreachable } from '@mediagen/client/errors.ts'
import { followJob, type FollowOptions } from '@mediagen/client/follow.ts'
import type { Http, RequestOptions } from '@mediagen/client/http.ts'
import type { Job, Problem } from '@mediagen/client/records.ts'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const job = (status: string, progress: number, place: number | null = null): Job =>
  ({ job_id: 'job_1', status, progress, attempts: status === 'queued' ? 0 : 1, queue_position: place }) as Job
const event = (id: number, record: Job): string => `id: ${id}\nevent: job\ndata: ${JSON.stringify(record)}\n\n`

/** A server whose event streams and records are these, one after the other; the last record stays. */
function createStub(streams: (string | ReadableStream<Uint8Array> | Error)[], records: Job[]) {
  const lastEventIds: (string | undefined)[] = []
  const http: Http = {
    async open(_path: string, { headers }: RequestOptions = {}) {
      lastEventIds.push(headers?.['last-event-id'])
      const next = streams.shift() ?? new Unreachable('here', 'gone')
      if (next instanceof Error) throw next
      return new Response(next)
    },
    async json<Answer>() {
      const record = records.length > 1 ? records.shift() : records[0]
      if (!record) throw new Unreachable('here', 'gone')
      return record as Answer
    },
  }
  return { http, lastEventIds }
}

/** Follows with time as fast as it goes. */
async function follow(stub: ReturnType<typeof createStub>, options: FollowOptions = {}) {
  const seen: string[] = []
  const state = { ended: false }
  const end = followJob(stub.http, 'job_1', {
    ...options,
    onJob(record) {
      seen.push(`${record.status} ${record.queue_position ?? record.progress}`)
      options.onJob?.(record)
    },
  }).finally(() => (state.ended = true))
  // Handled below.
  end.catch(() => {})
  while (!state.ended) await vi.advanceTimersByTimeAsync(1000)
  return { seen, last: await end }
}

test('a stream that breaks off is taken up where it ended', async () => {
  const stub = createStub(
    [event(1, job('queued', 0)) + event(2, job('running', 0.5)), event(3, job('succeeded', 1))],
    [job('running', 0.5)],
  )
  const { seen, last } = await follow(stub)
  expect(seen).toEqual(['queued 0', 'running 0.5', 'running 0.5', 'succeeded 1'])
  expect(stub.lastEventIds).toEqual([undefined, '2'])
  expect(last.status).toBe('succeeded')
})

test('without events the record is read again and again', async () => {
  const stub = createStub(
    Array.from({ length: 5 }, () => ''),
    [job('queued', 0), job('running', 0.2), job('running', 0.6), job('failed', 0.6)],
  )
  expect((await follow(stub)).seen).toEqual(['queued 0', 'running 0.2', 'running 0.6', 'failed 0.6'])
})

test('where too many jobs are watched already, the record is read, however long the job takes', async () => {
  const problem = { status: 429, detail: 'too many watches', code: 'rate_limited', retryable: true } as Problem
  const stub = createStub(
    Array.from({ length: 200 }, () => new Refused(problem, 5)),
    [...Array.from({ length: 100 }, () => job('running', 0.5)), job('succeeded', 1)],
  )
  expect((await follow(stub)).last.status).toBe('succeeded')
})

test('an event that the record has overtaken is not told', async () => {
  const stub = createStub(
    [event(1, job('running', 0.2)), event(2, job('running', 0.4)) + event(3, job('failed', 0.9))],
    [job('running', 0.8)],
  )
  expect((await follow(stub)).seen).toEqual(['running 0.2', 'running 0.8', 'failed 0.9'])
})

test('the place in the queue is asked for, as it changes without an event', async () => {
  let finish = (): void => {}
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes(event(1, job('queued', 0, 3))))
      finish = () => controller.enqueue(bytes(event(2, job('succeeded', 1))))
    },
  })
  const stub = createStub([stream], [job('queued', 0, 2), job('queued', 0, 1)])
  const { seen } = await follow(stub, {
    onJob(record) {
      if (record.queue_position === 1) finish()
    },
  })
  expect(seen).toEqual(['queued 3', 'queued 2', 'queued 1', 'succeeded 1'])
})

test('what another try would not change is thrown; a server that stays away is given up when one wants', async () => {
  const problem = { status: 404, detail: 'no such job', code: 'job_not_found', retryable: false } as Problem
  await expect(follow(createStub([new Refused(problem)], []))).rejects.toThrow('no such job')
  const away = createStub([], [])
  await expect(follow(away, { maxFailures: 3 })).rejects.toThrow(Unreachable)
  expect(away.lastEventIds).toHaveLength(3)
})
