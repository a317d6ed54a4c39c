// `serve`: how it starts, what it says, how it ends and what becomes of the work that it had. docs/contract.md, section 2.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startApp } from '../../src/app/start.ts'
import { readConfig } from '../../src/config.ts'
import { keepLog } from '../kept-log.ts'
import { startTestApp } from '../test-app.ts'
import { isPostgres } from '../test-store.ts'
import { createTestAccount, openClient, openCommandLine, watchEnd } from './command-line.ts'

const poster = 'builtin/image/poster/text-to-image'
/** Whether a server is there and takes work. */
const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )

test('it prints its addresses, serves, and ends with exit status 0 and nothing on stderr, whoever keeps a connection open', async () => {
  await using line = openCommandLine()
  const server = await line.serve()
  // A slow disk is a reason to wait.
  await expect.poll(async () => (await fetch(`${server.httpUrl}/readyz`)).status).toBe(200)
  expect(server.grpcUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  const agent = new http.Agent({ keepAlive: true })
  await new Promise((resolve) =>
    http.get(`${server.httpUrl}/healthz`, { agent }, (answer) => answer.resume().on('end', resolve)),
  )
  // A signal and its echo, as npm and a terminal send them, are one wish to stop.
  server.process.kill('SIGINT')
  expect(await server.stop('SIGINT')).toMatchObject({ status: 0, stderr: '' })
  agent.destroy()
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

test('a stop hands waiting clients the record as it is; the next start in the role api leaves the job, one in the role worker ends it within its grace', async () => {
  await using line = openCommandLine({ MEDIAGEN_STOP_GRACE_SECONDS: '600' })
  const { key } = await createTestAccount(line)
  const gate = join(line.folder, 'gate')
  const first = await line.serve({ MEDIAGEN_STOP_GRACE_SECONDS: '0' })
  const client = openClient(first.httpUrl, key)
  const waiting = client.generate('test/gate/text-to-image', { gate }, true)
  await expect.poll(async () => (await client.send('/v1/jobs?status=running')).body.total).toBe(1)
  const stopped = first.stop()
  const { status, body: job } = await waiting
  expect({ status, job: job.status }).toEqual({ status: 202, job: 'running' })
  expect(await stopped).toMatchObject({ status: 0, stderr: '' })

  const api = await line.serve({ MEDIAGEN_ROLES: 'api' })
  const { send, generate } = openClient(api.httpUrl, key)
  const queued = (await generate('test/instant/text-to-image', { prompt: 'x' }, false)).body
  expect(queued.status).toBe('queued')
  const order = { model: queued.model, input: { prompt: 'x' }, quote_id: queued.quote_id }
  const ending = send('/v1/generate?wait=true', order, { 'idempotency-key': 'another' })
  const worker = await line.serve({ MEDIAGEN_ROLES: 'worker' })
  expect((await ending).body).toMatchObject({ status: 'succeeded', attempts: 1 })
  await expect.poll(async () => (await send(`/v1/jobs/${queued.job_id}`)).body.status).toBe('succeeded')

  await expect
    .poll(async () => (await send(`/v1/jobs/${job.job_id}`)).body)
    .toMatchObject({ status: 'running', attempts: 2 })
  expect(await isReady(worker.httpUrl)).toBe(true)
  const ended = worker.stop()
  // The gate opens when it is stopping.
  await expect.poll(() => isReady(worker.httpUrl)).toBe(false)
  writeFileSync(gate, '')
  expect(await ended).toMatchObject({ status: 0, stderr: '' })
  expect(await line.json(['admin', 'jobs', 'show', job.job_id])).toMatchObject({ status: 'succeeded', attempts: 2 })
  expect((await send('/v1/wallet')).body).toEqual({ available: 984, held: 0 })
  expect((await line.json(['admin', 'ledger', 'verify'])).problems).toEqual([])
})

test('in front of a core that cannot be reached, it says so: 503 problems, and not ready', async () => {
  const settings = { MEDIAGEN_HTTP_PORT: '0', MEDIAGEN_CORE_URL: 'http://127.0.0.1:1' }
  await using server = await startApp(readConfig(settings), { log: keepLog().log })
  expect(server.grpcUrl).toBeNull()
  expect((await fetch(`${server.httpUrl}/healthz`)).status).toBe(200)
  const ready = await fetch(`${server.httpUrl}/readyz`)
  expect(ready.status).toBe(503)
  expect(await ready.text()).toContain('127.0.0.1:1')
  const { status, headers, body } = await openClient(server.httpUrl, `mgk_${'x'.repeat(43)}`).send('/v1/models')
  expect(status).toBe(503)
  expect(headers.get('content-type')).toContain('application/problem+json')
  expect(body).toMatchObject({ status: 503, retryable: true })
})

test('--core-url: in front of a core that runs, it serves what the core serves, and notices when the core is gone', async () => {
  await using line = openCommandLine()
  await using core = await startTestApp()
  const server = await line.serve({}, ['--core-url', core.app.grpcUrl ?? ''])
  expect(server.grpcUrl).toBeNull()
  // A slow disk is a reason to wait.
  await expect.poll(async () => (await fetch(`${server.httpUrl}/readyz`)).status).toBe(200)
  const client = openClient(server.httpUrl, core.account.key)
  expect((await client.generate('test/instant/text-to-image', { prompt: 'x' }, true)).body.status).toBe('succeeded')
  await core[Symbol.asyncDispose]()
  await expect.poll(async () => (await fetch(`${server.httpUrl}/readyz`)).status).toBe(503)
  expect((await client.send('/v1/wallet')).status).toBe(503)
  expect((await server.stop()).status).toBe(0)
})

test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'as root the program can give its forked processes another user, in a new data directory and in one that lets nobody pass',
  async () => {
    await using line = openCommandLine({ MEDIAGEN_LOG_LEVEL: 'warn' })
    const { key } = await createTestAccount(line)
    // What is above the data directory is the operator's.
    chmodSync(line.folder, 0o711)
    mkdirSync(line.dataDir, { recursive: true })
    const server = await line.serve()
    const made = await openClient(server.httpUrl, key).generate(poster, { title: 'Contained' }, true)
    expect(made.body.status).toBe('succeeded')
    expect((await server.stop()).stdout).not.toMatch(/the user with id/)

    chmodSync(line.dataDir, 0o700)
    const { lines, log } = keepLog()
    await using app = await startTestApp({ MEDIAGEN_DATA_DIR: line.dataDir }, { log })
    const { body } = await app.generate('test/instant/text-to-image', { prompt: 'x' })
    expect(body.status).toBe('succeeded')
    expect(JSON.stringify(lines)).not.toMatch(/the user with id/)
  },
)
