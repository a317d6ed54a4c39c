// `serve`: how it starts, what it says, how it ends and what becomes of the work that it had. docs/contract.md, section 2.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isPostgres } from '../test-store.ts'
import { type CommandLine, createTestAccount, openClient, openCommandLine, watchEnd } from './command-line.ts'

const gateModel = 'test/gate/text-to-image'

/** A server with a job that runs until its gate is opened, and a client that waits for the end of it. */
async function serveWaiting(line: CommandLine, env: Readonly<Record<string, string>> = {}) {
  const { key } = await createTestAccount(line)
  const server = await line.serve(env)
  const client = openClient(server.httpUrl, key)
  const gate = join(line.folder, 'gate')
  const waiting = client.generate(gateModel, { gate }, true)
  await expect.poll(async () => (await client.send('/v1/jobs?status=running')).body.total).toBe(1)
  return { key, server, waiting, open: () => writeFileSync(gate, '') }
}

test('it prints its addresses, serves, and a signal ends it with exit status 0 and nothing on stderr', async () => {
  await using line = openCommandLine()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const server = await line.serve()
    // A slow disk is a reason to wait.
    await expect.poll(async () => (await fetch(`${server.httpUrl}/readyz`)).status).toBe(200)
    expect(server.grpcUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(await server.stop(signal)).toMatchObject({ status: 0, stderr: '' })
  }
})

test('a signal that comes while it starts stops it properly too', async () => {
  await using line = openCommandLine()
  const starting = await line.start(['serve', '--json'])
  const ended = watchEnd(starting)
  // Either appears in the middle of the start.
  const sign = isPostgres ? line.dataDir : join(line.dataDir, 'mediagen.db')
  await expect.poll(() => existsSync(sign), { interval: 1 }).toBe(true)
  starting.kill('SIGTERM')
  expect(await ended).toMatchObject({ status: 0, stderr: '' })
})

test('a connection that is kept open does not keep it from ending', async () => {
  await using line = openCommandLine()
  const server = await line.serve()
  const agent = new http.Agent({ keepAlive: true })
  await new Promise((resolve) =>
    http.get(`${server.httpUrl}/healthz`, { agent }, (answer) => answer.resume().on('end', resolve)),
  )
  expect((await server.stop()).status).toBe(0)
  agent.destroy()
})

test('when it stops, waiting clients get the record as it is, and the next start runs the job', async () => {
  await using line = openCommandLine()
  const { key, server, waiting, open } = await serveWaiting(line)
  const stopped = server.stop()
  const { status, body } = await waiting
  expect({ status, job: body.status }).toEqual({ status: 202, job: 'running' })
  expect(await stopped).toMatchObject({ status: 0, stderr: '' })

  open()
  const next = await line.serve()
  const again = openClient(next.httpUrl, key)
  await expect
    .poll(async () => (await again.send(`/v1/jobs/${body.job_id}`)).body)
    .toMatchObject({ status: 'succeeded', attempts: 2 })
  expect((await again.send('/v1/wallet')).body).toEqual({ available: 990, held: 0 })
  await next.stop()
  expect((await line.json(['ledger', 'verify'])).problems).toEqual([])
})

test('a job that ends within the grace is kept', async () => {
  await using line = openCommandLine()
  const { key, server, waiting, open } = await serveWaiting(line, { MEDIAGEN_STOP_GRACE_SECONDS: '600' })
  const stopped = server.stop()
  const { body } = await waiting
  open()
  expect((await stopped).status).toBe(0)
  const next = await line.serve({ MEDIAGEN_ROLES: 'api' })
  expect((await openClient(next.httpUrl, key).send(`/v1/jobs/${body.job_id}`)).body).toMatchObject({
    status: 'succeeded',
    attempts: 1,
  })
})

test('a signal and its echo, as npm and a terminal send them, are one wish to stop', async () => {
  await using line = openCommandLine()
  const server = await line.serve()
  server.process.kill('SIGINT')
  expect((await server.stop('SIGINT')).status).toBe(0)
})

test('a server in the role api runs no jobs; one in the role worker on the same data takes them', async () => {
  await using line = openCommandLine()
  const { key } = await createTestAccount(line)
  const api = await line.serve({ MEDIAGEN_ROLES: 'api' })
  const client = openClient(api.httpUrl, key)
  const { body } = await client.generate('test/instant/text-to-image', { prompt: 'x' }, false)
  expect(body.status).toBe('queued')
  const waiting = client.send(
    `/v1/generate?wait=true`,
    { model: body.model, input: { prompt: 'x' }, quote_id: body.quote_id },
    { 'idempotency-key': 'another' },
  )
  const worker = await line.serve({ MEDIAGEN_ROLES: 'worker' })
  expect((await waiting).body).toMatchObject({ status: 'succeeded', attempts: 1 })
  await expect.poll(async () => (await client.send(`/v1/jobs/${body.job_id}`)).body.status).toBe('succeeded')
  await worker.stop()
})

test('in front of a core that cannot be reached, it says so: 503 problems, and not ready', async () => {
  await using line = openCommandLine()
  const server = await line.serve({}, ['--core-url', 'http://127.0.0.1:1'])
  expect(server.grpcUrl).toBeNull()
  expect((await fetch(`${server.httpUrl}/healthz`)).status).toBe(200)
  const ready = await fetch(`${server.httpUrl}/readyz`)
  expect(ready.status).toBe(503)
  expect(await ready.text()).toContain('127.0.0.1:1')
  const { status, headers, body } = await openClient(server.httpUrl, `mgk_${'x'.repeat(43)}`).send('/v1/models')
  expect(status).toBe(503)
  expect(headers.get('content-type')).toContain('application/problem+json')
  expect(body).toMatchObject({ status: 503, retryable: true })
  expect((await server.stop()).status).toBe(0)
})

test('in front of a core that runs, it serves what the core serves, and notices when the core is gone', async () => {
  await using line = openCommandLine()
  const { key } = await createTestAccount(line)
  const core = await line.serve()
  const server = await line.serve({ MEDIAGEN_CORE_URL: core.grpcUrl ?? '' })
  // A slow disk is a reason to wait.
  await expect.poll(async () => (await fetch(`${server.httpUrl}/readyz`)).status).toBe(200)
  const client = openClient(server.httpUrl, key)
  expect((await client.generate('test/instant/text-to-image', { prompt: 'x' }, true)).body.status).toBe('succeeded')
  await core.stop()
  await expect.poll(async () => (await fetch(`${server.httpUrl}/readyz`)).status).toBe(503)
  expect((await client.send('/v1/wallet')).status).toBe(503)
})

test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'as root the program can give its forked processes another user, in a new data directory and in one that lets nobody pass',
  async () => {
    await using line = openCommandLine({ MEDIAGEN_LOG_LEVEL: 'warn' })
    const { key } = await createTestAccount(line)
    // What is above the data directory is the operator's.
    chmodSync(line.folder, 0o711)
    mkdirSync(line.dataDir, { recursive: true })
    for (const mode of [0o711, 0o700]) {
      chmodSync(line.dataDir, mode)
      const server = await line.serve()
      const { generate } = openClient(server.httpUrl, key)
      const { body } = await generate('builtin/image/poster/text-to-image', { title: 'Contained' }, true)
      expect(body.status).toBe('succeeded')
      expect((await server.stop()).stdout).not.toMatch(/the user with id/)
    }
  },
)
