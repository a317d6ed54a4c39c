// mediagen logs: the history of one job, from its record and its events.
import type { Job } from '@mediagen/client/client.ts'
import { expect, test } from 'vitest'
import { describeChange } from '../../src/cli/user/logs.ts'
import { startTestApp } from '../test-app.ts'
import { openCommandLine } from './command-line.ts'

const instant = 'test/instant/text-to-image'

test('P384 logs shows what became of a job and of its credits, and follows one that runs', async () => {
  await using app = await startTestApp()
  await using line = openCommandLine({ MEDIAGEN_URL: app.url, MEDIAGEN_KEY: app.account.key })
  const made = (await app.generate(instant, { prompt: 'x' }, { wait: true })).body
  const { stdout } = await line.run(['logs', made.job_id])
  expect(stdout.split('\n').map((row) => row.replace(/^\S+Z +/, ''))).toEqual([
    `queued        ${instant}, 3 credits held`,
    'started',
    expect.stringMatching(/^output {8}image\/png, \d+ × \d+, \d+ bytes$/),
    'succeeded',
    'charged       3 credits',
    '',
  ])
  expect(stdout.split('\n')[0]).toContain(made.created_at)

  const failed = (await app.generate('test/failing/text-to-image', { prompt: 'x' }, { wait: true })).body
  expect((await line.run(['logs', failed.job_id])).stdout).toMatch(/ failed +\w+: .+\n\S+ +returned +\d+ credits\n$/)

  // Read until now, then to its end.
  const gate = app.gate()
  const running = (await app.generate('test/gate/text-to-image', gate.input, { wait: false })).body.job_id
  await gate.begun()
  const now = await line.run(['logs', running, '--no-follow'])
  expect(now).toMatchObject({ status: 0, stdout: expect.stringMatching(/ started\n/) })
  expect(now.stdout).not.toContain('succeeded')
  const following = line.run(['logs', running, '--json'])
  gate.open()
  const rows = (await following).stdout.trim().split('\n')
  expect(rows.map((row) => JSON.parse(row).event)).toEqual(
    expect.arrayContaining(['queued', 'started', 'output', 'succeeded', 'charged']),
  )

  const unknown = await line.run(['logs', 'job_none'])
  expect(unknown).toMatchObject({ status: 1, stderr: expect.stringMatching(/job_none/) })
})

test('P384 places, tenths, further attempts and a later verdict are each said once', () => {
  const job = {
    model: 'm',
    status: 'queued',
    queue_position: 2,
    progress: 0,
    attempts: 0,
    billing: { held: 5, charged: 0, released: 0 },
    receipt: null,
    outputs: [],
    error: null,
    created_at: 'created',
    started_at: null,
    finished_at: null,
    deleted_at: null,
    served_by: null,
  } as unknown as Job
  const running = { ...job, status: 'running', queue_position: null, attempts: 1, started_at: 'started' } as const
  const error = { code: 'review', message: 'It may have cost money.', retryable: false }
  const review = { ...running, status: 'needs_review', attempts: 2, finished_at: 'review', error } as const
  const receipt = {} as Job['receipt']
  const billing = { ...job.billing, charged: 3, released: 2 }
  const settled = { ...review, status: 'succeeded', finished_at: 'settled', error: null, receipt, billing } as const
  const records: readonly Job[] = [
    job,
    { ...job, queue_position: 1 },
    running,
    { ...running, progress: 0.31 },
    { ...running, progress: 0.35 },
    { ...running, status: 'queued', queue_position: 1 },
    { ...running, attempts: 2 },
    { ...running, attempts: 2, progress: 0.5 },
    review,
    settled,
    { ...settled, deleted_at: 'deleted' },
  ]
  const rows = records.flatMap((record, index) => describeChange(records[index - 1] ?? null, record, 'now'))
  expect(rows.map(({ at, event, detail }) => `${at} ${event} ${detail}`.trimEnd())).toEqual([
    'created queued m, 5 credits held, place 2',
    'now queued place 1',
    'started started',
    'now running 31%',
    'now queued again, after attempt 1, place 1',
    'now running attempt 2, 0%',
    'now running attempt 2, 50%',
    'review needs_review review: It may have cost money.',
    'settled succeeded attempt 2',
    'settled charged 3 credits',
    'settled returned 2 credits',
    'deleted deleted',
  ])
})
