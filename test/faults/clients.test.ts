// Clients that are many, that leave and that stall: each change is read once, all are told the end, and nothing is kept for who is gone or does not read.
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import type { Job } from '../../src/core/jobs/job.ts'
import { startFeed } from '../../src/feed/feed.ts'
import { type ForeignClient, openForeignClient } from '../rpc/foreign-client.ts'
import { readMetrics } from '../rpc/metrics.ts'
import { claimOne, startJob, testError } from '../storage/fixture.ts'
import { startTestApp, type TestApp } from '../test-app.ts'
import { openTestStore } from '../test-store.ts'
import { expectWhole } from './fixture.ts'

const watchers = 1000
const changes = 200
const stays = new AbortController().signal

/** Starts a job that runs until its gate is opened, and waits until it runs. */
async function startGated(app: TestApp) {
  const gate = app.gate()
  const { body } = await app.generate('test/gate/text-to-image', gate.input, { wait: false })
  const path = `/v1/jobs/${body.job_id}`
  await gate.begun()
  return { open: gate.open, jobId: body.job_id as string, path }
}

/** A feed on a job that runs, and how often the feed has read it on its own account. */
async function openCounted() {
  const store = await openTestStore()
  const { accountId } = await store.createAccount('test', 1000)
  const { jobId } = await startJob(store, accountId)
  const { token } = await claimOne(store)
  const reads = { count: 0 }
  const feed = startFeed({
    ...store,
    getJob(account, id) {
      if (account === null) reads.count += 1
      return store.getJob(account, id)
    },
  })
  const advance = (step: number) =>
    store.heartbeat([{ jobId, token, progress: step / (changes + 1) }], 60_000).then(() => {})
  const end = () => store.finishJob(jobId, token, { status: 'failed', error: testError })
  async function dispose(): Promise<void> {
    feed.stop()
    await store[Symbol.asyncDispose]()
  }
  return { store, accountId, jobId, feed, reads, advance, end, [Symbol.asyncDispose]: dispose }
}

type Counted = Awaited<ReturnType<typeof openCounted>>

/** Opens the watches, a hundred at a time: a busy machine does not answer a thousand reads in the time that one has. */
async function openWatches({ feed, accountId, jobId }: Counted, signal = stays) {
  const opened: Awaited<ReturnType<typeof feed.watch>>[] = []
  while (opened.length < watchers)
    opened.push(...(await Promise.all(Array.from({ length: 100 }, () => feed.watch(accountId, jobId, signal)))))
  return opened
}

function heapBytes(): number {
  // vitest.config.ts gives V8 the flag.
  expect(globalThis.gc).toBeDefined()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

test(`${watchers} watchers of a job cost at most one read for each change, and all are told the end`, async () => {
  await using counted = await openCounted()
  const { jobId, reads } = counted
  const watches = await openWatches(counted)
  const ends = watches.map(async (watch) => {
    let last: Job | null = null
    for await (const job of watch ?? []) last = job
    return last
  })
  await new Promise(setImmediate)
  for (let step = 1; step <= 20; step++) await counted.advance(step)
  await counted.end()
  for (const job of await Promise.all(ends)) expect(job).toMatchObject({ jobId, status: 'failed' })
  expect(reads.count).toBe(20)
})

test('a client that has left is forgotten: further changes of the job are not even read', async () => {
  await using counted = await openCounted()
  const { reads } = counted
  const leave = new AbortController()
  const watches = await openWatches(counted, leave.signal)
  const left = watches.map(async (watch) => {
    for await (const _ of watch ?? []);
  })
  await new Promise(setImmediate)
  await counted.advance(1)
  expect(reads.count).toBe(1)
  leave.abort()
  await Promise.all(left)
  for (let step = 2; step <= 10; step++) await counted.advance(step)
  expect(reads.count).toBe(1)
})

test(`${watchers} watchers that never read cost no memory as changes come, and delay no others`, async () => {
  await using counted = await openCounted()
  const { feed, accountId, jobId, advance } = counted
  const stalled = await openWatches(counted)
  const reader = (await feed.watch(accountId, jobId, stays))?.[Symbol.asyncIterator]()
  await reader?.next()
  for (let step = 1; step <= changes / 2; step++) await advance(step)
  const before = heapBytes()
  for (let step = changes / 2 + 1; step <= changes; step++) {
    await advance(step)
    expect((await reader?.next())?.value?.progress).toBeGreaterThan(0)
  }
  // One kept record of each watcher for each of a hundred changes would be tens of megabytes.
  expect(heapBytes() - before).toBeLessThan(4_000_000)
  await counted.end()
  expect((await reader?.next())?.value).toMatchObject({ status: 'failed' })
  for (const watch of stalled)
    expect((await watch?.[Symbol.asyncIterator]().next())?.value).toMatchObject({ status: 'failed' })
})

/** Watches over SSE on a connection of its own; resolves when the first event is there. */
async function watchEvents(app: TestApp, path: string, agent: Agent) {
  const headers = { authorization: `Bearer ${app.account.key}` }
  const request = get(`${app.url}${path}/events`, { agent, headers })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  expect(response.statusCode).toBe(200)
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  response.on('error', () => {})
  const ended = new Promise<string>((resolve) => response.once('close', () => resolve(text)))
  if (!text.includes('data: ')) await once(response, 'data')
  return { request, ended }
}

/** Watches over gRPC; resolves when the first message is there. */
async function watchCall(client: ForeignClient, jobId: string): Promise<{ ended: Promise<any[]> }> {
  const call = client.stream('GenerationService/WatchJob', { job_id: jobId })
  const told: any[] = []
  const ended = once(
    call.on('data', (message) => told.push(message)),
    'end',
  ).then(() => told)
  await once(call, 'data')
  return { ended }
}

/** Half of the watchers, some at a time: a slow machine that all came to at once would turn some away. */
async function openInGroups<Watch>(open: () => Promise<Watch>): Promise<Watch[]> {
  const opened: Watch[] = []
  while (opened.length < watchers / 2) opened.push(...(await Promise.all(Array.from({ length: 50 }, open))))
  return opened
}

/** Calls of WatchJob that are over on the server's side. */
async function countOver(app: TestApp): Promise<number> {
  const lines = (await readMetrics(app)).matchAll(
    /^mediagen_rpc_total\{rpc="GenerationService\.WatchJob",code="\w+"\} (\d+)$/gm,
  )
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0)
}

test(`${watchers} clients over SSE and gRPC that watch one job are all told its end`, async () => {
  await using app = await startTestApp({ MEDIAGEN_MAX_WATCHES_PER_ACCOUNT: String(watchers) })
  using client = await openForeignClient(app.app.grpcUrl, app.account.key)
  const { open, jobId, path } = await startGated(app)
  const agent = new Agent({ maxSockets: watchers })
  const overSse = await openInGroups(() => watchEvents(app, path, agent))
  const overGrpc = await openInGroups(() => watchCall(client, jobId))
  open()
  for (const text of await Promise.all(overSse.map(({ ended }) => ended)))
    expect(text.match(/"status":"succeeded"/g)).toHaveLength(1)
  for (const told of await Promise.all(overGrpc.map(({ ended }) => ended)))
    expect(told.at(-1).job.status).toBe('JOB_STATUS_SUCCEEDED')
  await expect.poll(() => countOver(app)).toBe(watchers)
  agent.destroy()
  await expectWhole(app)
})

test('clients that break off leave nothing that still watches', async () => {
  await using app = await startTestApp()
  const { open, jobId, path } = await startGated(app)
  const agent = new Agent({ maxSockets: 200 })
  const watches = await Promise.all(Array.from({ length: 200 }, () => watchEvents(app, path, agent)))
  expect(await countOver(app)).toBe(0)
  for (const { request } of watches) request.destroy()
  await expect.poll(() => countOver(app)).toBe(200)
  open()
  await app.send(`/v1/jobs/${jobId}/events`)
  expect((await app.send(path)).body.status).toBe('succeeded')
  await expectWhole(app)
})

/** Asks for the events of a job on a bare socket and reads none of them. */
async function stall(app: TestApp, path: string): Promise<Socket> {
  const { hostname, port } = new URL(app.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.pause()
  socket.write(`GET ${path}/events HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${app.account.key}\r\n\r\n`)
  return socket
}

test('connections that never read are closed, and delay neither the stop nor clients that read', async () => {
  await using app = await startTestApp()
  const { open, path } = await startGated(app)
  const stalled = await Promise.all(Array.from({ length: 100 }, () => stall(app, path)))
  const agent = new Agent()
  const { ended } = await watchEvents(app, path, agent)
  open()
  expect(await ended).toContain('"status":"succeeded"')
  for (const socket of stalled) socket.destroy()
  await expect.poll(() => countOver(app)).toBe(101)
  agent.destroy()
  await expectWhole(app)
})
