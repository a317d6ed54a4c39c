// WatchJob over gRPC: the record at once, each change, the end; and what happens when a client leaves (P178, P190).
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../test-app.ts'
import { type ForeignClient, openForeignClient } from './foreign-client.ts'
import { countCalls } from './metrics.ts'

const gateModel = 'test/gate/text-to-image'
let app: TestApp
let client: ForeignClient

beforeAll(async () => {
  app = await startTestApp()
  client = await openForeignClient(app.app.grpcUrl, app.account.key)
})

afterAll(async () => {
  client[Symbol.dispose]()
  await app[Symbol.asyncDispose]()
})

async function startGated(): Promise<{ job_id: string; open: () => void }> {
  const gate = app.gate()
  const { body } = await app.generate(gateModel, gate.input, { wait: false })
  return { job_id: body.job_id, open: gate.open }
}

/** A watch whose messages are kept, and a promise for the first that passes a test. */
function watch(request: object, options: { key?: string; deadlineMs?: number } = {}) {
  const stream = client.stream('GenerationService/WatchJob', request, options)
  const seen: { job: any; sequence: string }[] = []
  stream.on('data', (message) => seen.push(message))
  const ended = new Promise<unknown>((resolve) => stream.on('end', () => resolve(null)).on('error', resolve))
  const until = async (passes: (job: any) => boolean): Promise<any> => {
    for (;;) {
      const found = seen.find(({ job }) => passes(job))
      if (found) return found
      await once(stream, 'data')
    }
  }
  return { stream, seen, ended, until }
}

test('a watch tells the record at once, then each change in order, and ends after the terminal one', async () => {
  const job = await startGated()
  const { seen, ended, until } = watch({ job_id: job.job_id })
  await until(({ status, progress }) => status === 'JOB_STATUS_RUNNING' && progress === 0.5)
  job.open()
  expect(await ended).toBeNull()
  const sequences = seen.map(({ sequence }) => Number(sequence))
  expect(sequences).toEqual(sequences.toSorted((a, b) => a - b))
  expect(new Set(sequences).size).toBe(sequences.length)
  expect(seen.at(-1)?.job).toMatchObject({ status: 'JOB_STATUS_SUCCEEDED', progress: 1 })
  const progress = seen.map(({ job: { progress: told } }) => told)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
})

test('a watch resumes after the last sequence that was seen', async () => {
  const job = await startGated()
  const first = watch({ job_id: job.job_id })
  const { sequence } = await first.until(({ progress }) => progress === 0.5)
  first.stream.cancel()
  await first.ended
  const resumed = watch({ job_id: job.job_id, after_sequence: sequence })
  // Nothing new has happened: the record that was seen is not told again, while one who comes later is told it.
  await watch({ job_id: job.job_id }).until(() => true)
  expect(resumed.seen).toEqual([])
  job.open()
  expect(await resumed.ended).toBeNull()
  expect(resumed.seen.map(({ sequence: told }) => Number(told) > Number(sequence))).not.toContain(false)
  expect(resumed.seen.at(-1)?.job.status).toBe('JOB_STATUS_SUCCEEDED')
})

test('a watch of an ended job gets the end, unless the client has seen it', async () => {
  const { job_id } = (await app.generate('test/instant/text-to-image', { prompt: 'x' })).body
  const [only, ...more] = await client.readAll('GenerationService/WatchJob', { job_id })
  expect(more).toEqual([])
  expect(await client.readAll('GenerationService/WatchJob', { job_id, after_sequence: only.sequence })).toEqual([])
})

test('a deadline ends the stream, not the job', async () => {
  const job = await startGated()
  // Until a busy machine has answered before the deadline.
  for (let answers = 0, deadlineMs = 300; answers === 0; deadlineMs *= 2) {
    const { seen, ended } = watch({ job_id: job.job_id }, { deadlineMs })
    expect(client.toForeignError(await ended)).toMatchObject({ status: 'DEADLINE_EXCEEDED' })
    answers = seen.length
  }
  job.open()
  expect((await client.readAll('GenerationService/WatchJob', { job_id: job.job_id })).at(-1).job.status).toBe(
    'JOB_STATUS_SUCCEEDED',
  )
})

test('a client that leaves uses no more resources, and its job goes on', async () => {
  const job = await startGated()
  const countEnded = () => countCalls(app, 'GenerationService.WatchJob', 'ok')
  const before = await countEnded()
  const watches = Array.from({ length: 50 }, () => watch({ job_id: job.job_id }))
  await Promise.all(watches.map(({ until }) => until(() => true)))
  for (const { stream } of watches) stream.cancel()
  for (const { ended } of watches) expect(client.toForeignError(await ended).status).toBe('CANCELLED')
  // A call is counted when it is over on the server's side too.
  await expect.poll(countEnded).toBe(before + 50)
  job.open()
  expect((await client.readAll('GenerationService/WatchJob', { job_id: job.job_id })).at(-1).job.status).toBe(
    'JOB_STATUS_SUCCEEDED',
  )
})

test('a late reader gets the end', async () => {
  const job = await startGated()
  const late = client.stream('GenerationService/WatchJob', { job_id: job.job_id })
  await once(late, 'metadata')
  late.pause()
  job.open()
  await watch({ job_id: job.job_id }).ended
  const told: { job: any }[] = await late.toArray()
  expect(told.at(-1)?.job.status).toBe('JOB_STATUS_SUCCEEDED')
})

test('the sequence that a watch tells is that of the record', async () => {
  const { job_id } = (await app.generate('test/failing/text-to-image', { prompt: 'x' })).body
  const [{ job, sequence }] = await client.readAll('GenerationService/WatchJob', { job_id })
  expect(job).toMatchObject({ status: 'JOB_STATUS_FAILED', error: { message: expect.stringContaining('paint') } })
  expect(Number(sequence)).toBeGreaterThan(1)
})
