// Workers that are killed in the middle of a job, as real processes: what becomes of the job and of its credits.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestAccount, openClient, openCommandLine, type CommandLine, type Served } from '../cli/command-line.ts'

const catalog = join(import.meta.dirname, 'models.yaml')
const soon = { interval: 50 }

/** A server with one running job of a model of this folder. */
async function startJob(line: CommandLine, model: string) {
  const { key } = await createTestAccount(line)
  const server = await line.serve()
  const gate = join(line.folder, 'gate')
  const { body } = await openClient(server.httpUrl, key).generate(`test/${model}/text-to-image`, { gate }, false)
  const read = async (from: Served) => (await openClient(from.httpUrl, key).send(`/v1/jobs/${body.job_id}`)).body
  const wallet = async (from: Served) => (await openClient(from.httpUrl, key).send('/v1/wallet')).body
  await expect.poll(() => read(server), soon).toMatchObject({ status: 'running', progress: 0.5 })
  return { server, jobId: body.job_id as string, read, wallet, open: () => writeFileSync(gate, '') }
}

async function kill(server: Served): Promise<void> {
  server.process.kill('SIGKILL')
  await server.ended
}

test('after kill -9 the next start queues the job again at once, and finishes and charges it once', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: catalog, MEDIAGEN_LEASE_SECONDS: '3600' })
  const { server, read, wallet, open } = await startJob(line, 'patient')
  await kill(server)
  open()
  const next = await line.serve()
  await expect
    .poll(() => read(next), soon)
    .toMatchObject({ status: 'succeeded', attempts: 2, billing: { charged: 10 } })
  expect(await wallet(next)).toEqual({ available: 990, held: 0 })
  const [output] = (await read(next)).outputs
  expect((await fetch(output.url)).status).toBe(200)
  expect(await line.json(['ledger', 'verify'])).toMatchObject({ ok: true, problems: [] })
})

test('a worker that lives takes over from one that was killed, once its lease is over', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: catalog, MEDIAGEN_LEASE_SECONDS: '3' })
  const { server, read, open } = await startJob(line, 'patient')
  const other = await line.serve()
  await kill(server)
  expect(await read(other)).toMatchObject({ status: 'running', attempts: 1 })
  open()
  await expect.poll(() => read(other), soon).toMatchObject({ status: 'succeeded', attempts: 2 })
})

test('a worker that is stopped for longer than its lease ends nothing when it wakes up', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: catalog, MEDIAGEN_LEASE_SECONDS: '3' })
  const { server, read, wallet, open } = await startJob(line, 'patient')
  const other = await line.serve()
  server.process.kill('SIGSTOP')
  await expect.poll(() => read(other), soon).toMatchObject({ status: 'running', attempts: 2 })
  open()
  await expect.poll(() => read(other), soon).toMatchObject({ status: 'succeeded', attempts: 2 })
  const record = await read(other)
  server.process.kill('SIGCONT')
  // Its own next answer shows that it is awake.
  await expect.poll(() => read(server), soon).toMatchObject({ status: 'succeeded' })
  expect((await server.stop()).status).toBe(0)
  expect((await read(other)).outputs.map(({ sha256 }: { sha256: string }) => sha256)).toEqual(
    record.outputs.map(({ sha256 }: { sha256: string }) => sha256),
  )
  expect((await fetch((await read(other)).outputs[0].url)).status).toBe(200)
  expect(await wallet(other)).toEqual({ available: 990, held: 0 })
})

test('where no worker is left, a server of the role api sees to lost jobs, once their leases are over', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: catalog, MEDIAGEN_LEASE_SECONDS: '3' })
  const { server, read } = await startJob(line, 'patient')
  await kill(server)
  const api = await line.serve({ MEDIAGEN_ROLES: 'api' })
  await expect.poll(() => read(api), soon).toMatchObject({ status: 'queued', attempts: 1 })
})

test('a job that may not be lost more often fails, and its credits are back', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: catalog })
  const { server, read, wallet } = await startJob(line, 'fragile')
  await kill(server)
  const next = await line.serve()
  await expect.poll(() => read(next), soon).toMatchObject({ status: 'failed', error: { code: 'worker_lost' } })
  expect(await wallet(next)).toEqual({ available: 1000, held: 0 })
})

test('a job that may have cost elsewhere waits for an operator, who charges a part of it', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: catalog })
  const { server, read, wallet, jobId } = await startJob(line, 'paid')
  await kill(server)
  const next = await line.serve()
  await expect
    .poll(() => read(next), soon)
    .toMatchObject({ status: 'needs_review', error: { code: 'outcome_unknown' } })
  expect(await wallet(next)).toEqual({ available: 990, held: 10 })
  expect(await line.json(['jobs', 'list', '--status', 'needs_review'])).toMatchObject([{ job_id: jobId, held: 10 }])
  expect(await line.json(['jobs', 'show', jobId])).toMatchObject({
    status: 'needs_review',
    lost_runs: 1,
    resumable: false,
  })

  const tooMuch = await line.run(['jobs', 'resolve', jobId, '--charge', '11'])
  expect(tooMuch).toMatchObject({ status: 1, stderr: expect.stringContaining('at most 10') })
  expect(await line.run(['jobs', 'resolve', jobId, '--charge', '-1'])).toMatchObject({ status: 1 })
  expect(await line.run(['jobs', 'resolve', jobId])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('--release'),
  })
  expect(await line.json(['jobs', 'resolve', jobId, '--charge', '4'])).toEqual({
    job_id: jobId,
    charged: 4,
    released: 6,
  })
  expect(await line.run(['jobs', 'resolve', jobId, '--release'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('not under review'),
  })
  expect(await read(next)).toMatchObject({ status: 'succeeded', billing: { charged: 4, released: 6 } })
  expect(await wallet(next)).toEqual({ available: 996, held: 0 })
  expect(await line.json(['ledger', 'verify', '--repair-plan'])).toMatchObject({ ok: true, repair_plan: [] })
})

test('a server that stops gives such a job up for review, and the operator may release it', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: catalog })
  const { server, jobId } = await startJob(line, 'paid')
  expect((await server.stop()).status).toBe(0)
  expect(await line.json(['jobs', 'show', jobId])).toMatchObject({ status: 'needs_review', lost_runs: 0 })
  expect(await line.json(['jobs', 'resolve', jobId, '--release'])).toEqual({ job_id: jobId, charged: 0, released: 10 })
  expect(await line.json(['jobs', 'show', jobId])).toMatchObject({ status: 'failed', error: 'outcome_unknown' })
})

test('jobs of all accounts are listed, by state, account and model; an unknown one is not found', async () => {
  await using line = openCommandLine({ MEDIAGEN_CATALOG: catalog, MEDIAGEN_ROLES: 'api' })
  const [a, b] = [await createTestAccount(line), await createTestAccount(line)]
  const server = await line.serve()
  const gate = { gate: join(line.folder, 'never') }
  for (const { key } of [a, b, b])
    await openClient(server.httpUrl, key).generate('test/patient/text-to-image', gate, false)
  const list = async (...options: string[]) => (await line.json(['jobs', 'list', ...options])).length
  expect(await list()).toBe(3)
  expect(await list('--account', b.accountId)).toBe(2)
  expect(await list('--status', 'queued', '--limit', '1')).toBe(1)
  expect(await list('--status', 'succeeded')).toBe(0)
  expect(await list('--model', 'test/paid/text-to-image')).toBe(0)
  expect((await line.run(['jobs', 'list'])).stdout).toMatch(/^job_id +account_id +status +model/)
  expect(await line.run(['jobs', 'list', '--status', 'lost'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('needs_review'),
  })
  expect(await line.run(['jobs', 'show', 'job_x'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('job_x'),
  })
  expect(await line.run(['jobs', 'resolve', 'job_x', '--release'])).toMatchObject({ status: 1 })
})
