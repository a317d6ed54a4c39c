// An overloaded server refuses some requests early, with an explanation, and answers the others (P7, P172).
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pass } from 'node:timers/promises'
import { ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { afterAll, afterEach, expect, test } from 'vitest'
import { ErrorDetailSchema } from '../../gen/mediagen/v1/errors_pb.ts'
import { WalletService } from '../../gen/mediagen/v1/wallet_pb.ts'
import { overloaded } from '../../src/app/doors/overload.ts'
import { shedRequests } from '../../src/gateway/overload.ts'
import { toConnectJson } from '../../src/rpc/errors.ts'
import { ownThreads } from '../../src/storage/sqlite/threads/threads.ts'
import { keepLog } from '../kept-log.ts'
import { openForeignClient, type ForeignError } from '../rpc/foreign-client.ts'
import { readMetrics } from '../rpc/metrics.ts'
import { createSlowClock } from '../slow-clock.ts'
import { startTestApp, type TestAnswer } from '../test-app.ts'
import { holdStore } from '../test-store.ts'
import { expectProblem } from './problem.ts'
import { exchange, parseAnswer, sendRaw } from './raw-http.ts'

const atOnce = 12
const clock = createSlowClock(15)
afterEach(() => (clock.slow = false))
const { log, lines } = keepLog('warn')
const app = await startTestApp({ MEDIAGEN_MAX_QUEUE_MS: '20' }, { clock, log })
afterAll(() => app[Symbol.asyncDispose]())

test('MEDIAGEN_MAX_QUEUE_MS: requests that wait longer are refused until the server has caught up, except /healthz', async () => {
  let seen = 0
  const ask = async () => {
    const answers = await Promise.all(Array.from({ length: atOnce }, () => app.send('/v1/wallet')))
    seen += answers.filter(({ status }) => status === 503).length
    return answers
  }
  expect((await ask()).map(({ status }) => status)).toEqual(Array(atOnce).fill(200))

  clock.slow = true
  const [answers, health] = await Promise.all([
    Promise.all([ask(), ask(), ask()]),
    Promise.all(Array.from({ length: atOnce }, () => app.send('/healthz', { key: null }))),
  ])
  const refused = answers.flat().filter(({ status }) => status !== 200)
  expect(refused.length).toBeGreaterThan(0)
  for (const answer of refused) {
    expectProblem(answer, app.url, 'overloaded')
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(answer.body).toMatchObject({ retryable: true, detail: expect.stringContaining('Nothing was held') })
  }
  expect(new Set(health.map(({ status }) => status))).toEqual(new Set([200]))

  clock.slow = false
  await expect.poll(async () => (await ask()).every(({ status }) => status === 200)).toBe(true)
  expect(lines.some((line) => JSON.stringify(line).includes('overloaded'))).toBe(true)
  const [, shed] = /^mediagen_shed_total (\d+)$/m.exec(await readMetrics(app)) ?? []
  // Through a gateway these metrics are those of the core, and the gateway refused some itself.
  expect(Number(shed)).toBeGreaterThanOrEqual(process.env['MEDIAGEN_TEST_GATEWAY'] === '1' ? 0 : seen)
  expect(Number(shed), 'no answered request is counted').toBeLessThanOrEqual(seen)
})

test('starts do not pile up while the disk stands still; quotes go on, and starts do when the disk does', async () => {
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api', MEDIAGEN_MAX_QUEUE_MS: '100' }, { threads: ownThreads })
  const model = 'test/nothing/text-to-image'
  const input = { prompt: 'x' }
  const { quote_id } = await app.quote(model, input)
  const start = (key: string) =>
    app.send('/v1/generate', { headers: { 'idempotency-key': key }, body: { model, input, quote_id } })
  const first = await start('before')
  // Another process holds the lock: nothing is written meanwhile.
  await using held = await holdStore(app.config.dataDir)
  const waiting: Promise<TestAnswer>[] = [start('waits')]
  let refused: TestAnswer | undefined
  await expect
    .poll(
      async () => {
        const next = start(`asks-${waiting.length}`)
        waiting.push(next)
        refused = await Promise.race([next, pass(50, undefined)])
        return refused?.status
      },
      { interval: 10 },
    )
    .toBe(503)
  expectProblem(refused as TestAnswer, app.url, 'overloaded')
  expect(refused?.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expect((await app.quote(model, input)).credits).toBe(3)
  const replayed = await start('before')
  expect([replayed.status, replayed.body.job_id], 'a repeated start needs no disk').toEqual([202, first.body.job_id])

  await held.release()
  const answers = await Promise.all(waiting)
  expect(answers[0]?.status).toBe(202)
  const started = answers.filter(({ status }) => status === 202).length + 1
  expect((await start('after')).status).toBe(202)
  expect((await app.send('/v1/jobs')).body.total).toBe(started + 1)
  expect((await app.send('/v1/wallet')).body.held).toBe((started + 1) * 3)
})

test('a request that waits for its job is not refused', async () => {
  const gate = app.gate()
  const waiting = app.generate('test/gate/text-to-image', gate.input)
  await expect.poll(() => readMetrics(app)).toMatch(/^mediagen_waits_open 1$/m)
  clock.slow = true
  await Promise.all(Array.from({ length: 4 * atOnce }, () => app.send('/v1/wallet')))
  clock.slow = false
  gate.open()
  expect((await waiting).status).toBe(200)
})

test('over gRPC the refusal is UNAVAILABLE with the same code', async () => {
  using client = await openForeignClient(app.app.grpcUrl, app.account.key)
  await client.call('WalletService/GetWallet', {})
  clock.slow = true
  const calls = await Promise.allSettled(
    Array.from({ length: 4 * atOnce }, () => client.call('WalletService/GetWallet', {})),
  )
  const refused = calls.flatMap((call) => (call.status === 'rejected' ? [call.reason as ForeignError] : []))
  expect(refused.length).toBeGreaterThan(0)
  for (const error of refused) {
    expect(error).toMatchObject({ status: 'UNAVAILABLE', detail: { code: 'overloaded', retryable: true } })
    expect(error.detail.retry_after_seconds).toBeGreaterThan(0)
  }
})

/** A server that always refuses, in front of one that says how often it was reached. */
async function startFull() {
  let reached = 0
  const counted = { refused: 0, exempt: 0 }
  const overload = {
    refuses() {
      counted.refused += 1
      return true
    },
    noteExempt: () => void (counted.exempt += 1),
    refusal: overloaded(1000),
    connectBody: () => toConnectJson(overloaded(1000)),
  }
  const server = createServer(
    shedRequests(
      (_request, response) => {
        reached += 1
        response.end('reached')
      },
      overload,
      () => 'http://here',
    ),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    reached: () => reached,
    counted,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  }
}

test('a refusal does not wait for the body, and echoes the id of the request', async () => {
  await using server = await startFull()
  const head =
    'POST /v1/quotes HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n'
  const answer = parseAnswer(await exchange(server.url, Buffer.from(head)))
  expect(answer.status).toBe(503)
  expect(answer.headers.get('x-request-id')).toBe('mine')
  expect(answer.body).toMatchObject({ code: 'overloaded', request_id: 'mine', type: 'http://here/problems/overloaded' })
  expect(server.reached()).toBe(0)
})

test('a connection lives on after a refusal, and its next request is understood', async () => {
  await using server = await startFull()
  const post = 'POST /v1/quotes HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello'
  const bytes = await exchange(
    server.url,
    Buffer.from(`${post}${post}GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
  )
  const statuses = [...bytes.toString().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
  expect(statuses).toEqual(['503', '503', '200'])
})

test.each(['/healthz', '/healthz?x=1', '/readyz', '/metrics'])(
  '%s is never refused, nor counted as refused',
  async (path) => {
    await using server = await startFull()
    expect((await sendRaw(server.url, { path })).text).toBe('reached')
    expect(server.counted).toEqual({ refused: 0, exempt: 1 })
  },
)

test('Connect clients read the refusal as theirs', async () => {
  await using server = await startFull()
  const wallet = createClient(WalletService, createConnectTransport({ baseUrl: server.url, httpVersion: '1.1' }))
  const error = ConnectError.from(await wallet.getWallet({}).catch((thrown: unknown) => thrown))
  const [detail] = error.findDetails(ErrorDetailSchema)
  expect(detail).toMatchObject({ code: 'overloaded', retryable: true, retryAfterSeconds: 2 })
})
