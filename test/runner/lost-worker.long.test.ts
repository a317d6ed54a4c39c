// Workers that are killed, or stand still, in the middle of a job, as real processes: what becomes of the job and of its credits.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestAccount, openClient, openCommandLine, type CommandLine, type Served } from '../cli/command-line.ts'
import { awaitFile, startTestApp } from '../test-app.ts'

const catalog = join(import.meta.dirname, 'models.yaml')
const lease = { MEDIAGEN_CATALOG: catalog, MEDIAGEN_LEASE_SECONDS: '3' }

const modelOf = (name: string): string => `test/${name}/text-to-image`

/** A server, and a job of each of these models that runs on it. */
async function startJobs(line: CommandLine, ...names: readonly string[]) {
  const { key } = await createTestAccount(line)
  const server = await line.serve()
  const client = openClient(server.httpUrl, key)
  const jobs = await Promise.all(
    names.map(async (name) => {
      const gate = join(line.folder, name)
      const { body } = await client.generate(modelOf(name), { gate }, false)
      await awaitFile(`${gate}.begun`)
      return { jobId: body.job_id as string, open: () => writeFileSync(gate, '') }
    }),
  )
  const read = async (from: Served, { jobId } = jobs[0] as (typeof jobs)[0]) =>
    (await openClient(from.httpUrl, key).send(`/v1/jobs/${jobId}`)).body
  const wallet = async (from: Served) => (await openClient(from.httpUrl, key).send('/v1/wallet')).body
  return { server, jobs, read, wallet, open: () => jobs.forEach(({ open }) => open()) }
}

async function kill(server: Served): Promise<void> {
  server.process.kill('SIGKILL')
  await server.ended
}

test('after kill -9 the next start sees at once to what ran: it is run again and charged once, fails, or waits for an operator, who charges a part of it', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: catalog, MEDIAGEN_LEASE_SECONDS: '3600' })
  const { server, jobs, read, wallet, open } = await startJobs(line, 'patient', 'fragile', 'paid')
  const [patient, fragile, paid] = jobs
  await kill(server)
  open()
  const next = await line.serve()
  await expect
    .poll(() => read(next, patient))
    .toMatchObject({ status: 'succeeded', attempts: 2, billing: { charged: 10 } })
  const [output] = (await read(next, patient)).outputs
  expect((await fetch(output.url)).status).toBe(200)
  // It may not be lost more often.
  await expect.poll(() => read(next, fragile)).toMatchObject({ status: 'failed', error: { code: 'worker_lost' } })
  // It may have cost elsewhere.
  await expect
    .poll(() => read(next, paid))
    .toMatchObject({ status: 'needs_review', error: { code: 'outcome_unknown' } })
  expect(await wallet(next)).toEqual({ available: 980, held: 10 })
  expect(await line.json(['admin', 'ledger', 'verify'])).toMatchObject({ ok: true, problems: [] })

  const jobId = paid?.jobId ?? ''
  expect(await line.json(['admin', 'jobs', 'list', '--status', 'needs_review'])).toMatchObject([
    { job_id: jobId, held: 10 },
  ])
  expect(await line.json(['admin', 'jobs', 'show', jobId])).toMatchObject({
    status: 'needs_review',
    lost_runs: 0,
    resumable: false,
  })
  const tooMuch = await line.run(['admin', 'jobs', 'resolve', jobId, '--charge', '11'])
  expect(tooMuch).toMatchObject({ status: 1, stderr: expect.stringContaining('at most 10') })
  expect(await line.run(['admin', 'jobs', 'resolve', jobId, '--charge', '-1'])).toMatchObject({ status: 1 })
  expect(await line.run(['admin', 'jobs', 'resolve', jobId])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('--release'),
  })
  expect(await line.json(['admin', 'jobs', 'resolve', jobId, '--charge', '4'])).toEqual({
    job_id: jobId,
    charged: 4,
    released: 6,
  })
  expect(await line.run(['admin', 'jobs', 'resolve', jobId, '--release'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('not under review'),
  })
  expect(await read(next, paid)).toMatchObject({ status: 'succeeded', billing: { charged: 4, released: 6 } })
  expect(await wallet(next)).toEqual({ available: 986, held: 0 })
  expect(await line.json(['admin', 'ledger', 'verify', '--repair-plan'])).toMatchObject({ ok: true, repair_plan: [] })
})

// These wait for leases to run out: all at the same time.
test.concurrent('a worker that lives takes over from one that was killed, once its lease is over', async ({
  expect,
}) => {
  await using line = openCommandLine(lease)
  const { server, read, open } = await startJobs(line, 'patient')
  const other = await line.serve()
  await kill(server)
  open()
  await expect.poll(() => read(other)).toMatchObject({ status: 'succeeded', attempts: 2 })
})

test.concurrent('a worker that is stopped for longer than its lease ends nothing when it wakes up', async ({
  expect,
}) => {
  await using line = openCommandLine(lease)
  const { server, read, wallet, open } = await startJobs(line, 'patient')
  const other = await line.serve()
  server.process.kill('SIGSTOP')
  await expect.poll(() => read(other)).toMatchObject({ status: 'running', attempts: 2 })
  open()
  await expect.poll(() => read(other)).toMatchObject({ status: 'succeeded', attempts: 2 })
  const record = await read(other)
  server.process.kill('SIGCONT')
  // Its own next answer shows that it is awake.
  await expect.poll(() => read(server)).toMatchObject({ status: 'succeeded' })
  expect((await server.stop()).status).toBe(0)
  expect((await read(other)).outputs.map(({ sha256 }: { sha256: string }) => sha256)).toEqual(
    record.outputs.map(({ sha256 }: { sha256: string }) => sha256),
  )
  expect((await fetch((await read(other)).outputs[0].url)).status).toBe(200)
  expect(await wallet(other)).toEqual({ available: 990, held: 0 })
})

test.concurrent('where no worker is left, a server of the role api sees to lost jobs, once their leases are over', async ({
  expect,
}) => {
  await using line = openCommandLine(lease)
  const { server, read } = await startJobs(line, 'patient')
  await kill(server)
  const api = await line.serve({ MEDIAGEN_ROLES: 'api' })
  await expect.poll(() => read(api)).toMatchObject({ status: 'queued', attempts: 1 })
})

test('a server that stops gives up for review what may have cost elsewhere, and the operator may release it', async () => {
  await using line = openCommandLine()
  const app = await startTestApp({ MEDIAGEN_DATA_DIR: line.dataDir, MEDIAGEN_CATALOG: catalog })
  const gate = app.gate()
  const { body: job } = await app.generate(modelOf('paid'), gate.input, { wait: false })
  await gate.begun()
  await app[Symbol.asyncDispose]()
  expect(await line.json(['admin', 'jobs', 'show', job.job_id])).toMatchObject({ status: 'needs_review', lost_runs: 0 })
  expect(await line.json(['admin', 'jobs', 'resolve', job.job_id, '--release'])).toEqual({
    job_id: job.job_id,
    charged: 0,
    released: 10,
  })
  expect(await line.json(['admin', 'jobs', 'show', job.job_id])).toMatchObject({
    status: 'failed',
    error: 'outcome_unknown',
  })
})

test('jobs of all accounts are listed, by state, account and model; an unknown one is not found', async () => {
  await using line = openCommandLine()
  const settings = { MEDIAGEN_DATA_DIR: line.dataDir, MEDIAGEN_CATALOG: catalog, MEDIAGEN_ROLES: 'api' }
  await using app = await startTestApp(settings)
  const [a, b] = [app.account, await app.createAccount(100)]
  for (const account of [a, b, b]) await app.generate(modelOf('patient'), { gate: 'never' }, { wait: false, account })
  const list = async (...options: string[]) => (await line.json(['admin', 'jobs', 'list', ...options])).length
  expect(await list()).toBe(3)
  expect(await list('--account', b.accountId)).toBe(2)
  expect(await list('--status', 'queued', '--limit', '1')).toBe(1)
  expect(await list('--status', 'succeeded')).toBe(0)
  expect(await list('--model', modelOf('paid'))).toBe(0)
  expect((await line.run(['admin', 'jobs', 'list'])).stdout).toMatch(/^job_id +status +model +account/)
  expect(await line.run(['admin', 'jobs', 'list', '--status', 'lost'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('needs_review'),
  })
  expect(await line.run(['admin', 'jobs', 'show', 'job_x'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('job_x'),
  })
  expect(await line.run(['admin', 'jobs', 'resolve', 'job_x', '--release'])).toMatchObject({ status: 1 })
})
