// Following a job: over events that break off, and without any.
import { expect, test } from 'vitest'
import { type CallOptions, Refusal } from '../../web/api.ts'
import { watchJob } from '../../web/job-watch.ts'
import type { JobRecord, ProblemRecord } from '../../web/records.ts'
import { startTestApp } from '../test-app.ts'
import { createApi } from '../../web/api.ts'

const job = (status: string, progress: number): JobRecord =>
  ({ job_id: 'job_1', status, progress, attempts: status === 'queued' ? 0 : 1 }) as JobRecord
const event = (id: number, record: JobRecord): string => `id: ${id}\nevent: job\ndata: ${JSON.stringify(record)}\n\n`

/** A server whose event streams and records are these, one after the other. */
function createApiStub(streams: (string | Error)[], records: JobRecord[]) {
  const lastEventIds: (string | undefined)[] = []
  return {
    lastEventIds,
    polls: () => records.length,
    async open(_path: string, options?: CallOptions): Promise<Response> {
      lastEventIds.push(options?.headers?.['last-event-id'])
      const next = streams.shift() ?? new Error('no connection')
      if (next instanceof Error) throw next
      return new Response(next)
    },
    async get<Answer>(): Promise<Answer> {
      return (records.length > 1 ? records.shift() : records[0]) as Answer
    },
  }
}

const watch = async (api: ReturnType<typeof createApiStub>): Promise<{ seen: string[]; last: JobRecord | null }> => {
  const seen: string[] = []
  const last = await watchJob(api, 'job_1', {
    signal: new AbortController().signal,
    sleep: async () => {},
    onJob: ({ status, progress }) => seen.push(`${status} ${progress}`),
  })
  return { seen, last }
}

test('a stream that breaks off is taken up where it ended', async () => {
  const api = createApiStub(
    [event(1, job('queued', 0)) + event(2, job('running', 0.5)), event(3, job('succeeded', 1))],
    [job('running', 0.5)],
  )
  const { seen, last } = await watch(api)
  expect(seen).toEqual(['queued 0', 'running 0.5', 'running 0.5', 'succeeded 1'])
  expect(api.lastEventIds).toEqual([undefined, '2'])
  expect(last?.status).toBe('succeeded')
})

test('without events it polls', async () => {
  const api = createApiStub(
    [],
    [job('queued', 0), job('running', 0.2), job('running', 0.4), job('running', 0.6), job('failed', 0.6)],
  )
  expect((await watch(api)).seen).toEqual(['queued 0', 'running 0.2', 'running 0.4', 'running 0.6', 'failed 0.6'])
  expect(api.lastEventIds).toHaveLength(3)
})

test('what another try would not change is thrown', async () => {
  const problem: ProblemRecord = {
    type: '',
    title: '',
    status: 404,
    detail: 'no such job',
    code: 'job_not_found',
    retryable: false,
    request_id: '',
  }
  await expect(watch(createApiStub([new Refusal(problem)], []))).rejects.toThrow('no such job')
})

test('a job of a real server is followed to its end', async () => {
  await using app = await startTestApp()
  const gate = app.gate()
  const started = await app.generate('test/gate/text-to-image', gate.input, { wait: false })
  const api = createApi(
    app.account.key,
    () => {},
    (path, init) => fetch(app.url + String(path), init),
  )
  const seen = new Set<string>()
  const last = await watchJob(api, started.body.job_id, {
    signal: new AbortController().signal,
    onJob({ status, progress }) {
      seen.add(status)
      if (progress === 0.5) gate.open()
    },
  })
  expect(last?.status).toBe('succeeded')
  expect([...seen]).toEqual(expect.arrayContaining(['running', 'succeeded']))
})
