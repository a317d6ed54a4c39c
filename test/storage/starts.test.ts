// Starts that run as one command in SQLite.
import { expect, test } from 'vitest'
import { createIdSource } from '../../src/core/ids.ts'
import { toStartRequest, type StartAnswer } from '../../src/storage/sqlite/jobs/starts.ts'
import { loadMigrations } from '../../src/storage/sqlite/migrate.ts'
import { createCommands, runCommands } from '../../src/storage/sqlite/threads/commands.ts'
import { startOf } from './fixture.ts'
import { openRaw } from './sqlite-fixture.ts'

test('neighbours are written together, with what is replayed among them, and other commands stay in their order', () => {
  using db = openRaw(':memory:')
  for (const { sql } of loadMigrations()) db.exec(sql)
  const changed: string[] = []
  const nowMs = () => 1_000_000
  const ids = createIdSource(nowMs, (count) => new Uint8Array(count))
  const commands = createCommands({ db, nowMs, ids, changed: (jobId) => changed.push(jobId), acted: () => {} })
  const { accountId } = commands.createAccount('a', 1000)
  const start = (idempotencyKey: string) => ({
    name: 'startGenerations' as const,
    args: [toStartRequest(startOf(accountId, { idempotencyKey }))],
  })
  const grant = { name: 'grantCredits' as const, args: [accountId, 5, null] }
  const keys = Array.from({ length: 40 }, (_, index) => `k${index}`)
  const calls = [...keys, 'k1', 'k40'].map(start)
  const results = db.transaction(() => runCommands(commands, [...calls, grant, start('k41')]))()
  const answers = results.toSpliced(42, 1).map((result) => (result as StartAnswer[])[0])
  const jobs = db.prepare<[], { jobId: string }>('SELECT job_id AS jobId FROM jobs ORDER BY number').all()
  const jobIds = answers.map((answer) => (answer?.outcome === 'created' ? answer.jobId : null))
  expect(jobIds.map((jobId) => (jobId === null ? 'replayed' : 'created'))).toEqual([
    ...Array<string>(40).fill('created'),
    'replayed',
    'created',
    'created',
  ])
  expect(changed).toEqual(jobs.map(({ jobId }) => jobId))
  expect(jobIds.filter((jobId) => jobId !== null)).toEqual(changed)
  expect(answers[40]).toMatchObject({ outcome: 'replayed', job: { jobId: changed[1], status: 'queued' } })
  expect(results[42]).toMatchObject({ outcome: 'done', account: { available: 1000 - 41 * 10 + 5 } })
  expect(db.prepare('SELECT available, held, job_count, queued_jobs FROM accounts').all()).toEqual([
    { available: 585, held: 420, job_count: 42, queued_jobs: 42 },
  ])
})
