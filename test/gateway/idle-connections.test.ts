// Answers say how long a connection may stay idle, and it is closed a second later.
import { afterEach, expect, test, vi } from 'vitest'
import { GenerationService } from '../../gen/mediagen/v1/generation_pb.ts'
import { createInProcessTransport } from '../../src/rpc/in-process.ts'
import { startBareGateway } from './bare-gateway.ts'
import { openRaw, toRequest } from './raw-http.ts'

afterEach(() => void vi.useRealTimers())

/** A gateway on which time passes when the test says so, with a job that is never answered. */
async function start() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const neverAnswer = () => {
    ask()
    return new Promise<never>(() => {})
  }
  const singles = new Map([[GenerationService.method.getJob, neverAnswer]])
  const service = { service: GenerationService, singles, streams: new Map(), gates: new Map() }
  const gateway = await startBareGateway(createInProcessTransport([service]))
  const url = `http://127.0.0.1:${gateway.port}`
  return { url, asked, [Symbol.asyncDispose]: gateway[Symbol.asyncDispose] }
}

/** A connection on which a request was answered. */
async function openUsed(url: string) {
  const connection = await openRaw(url)
  connection.write(toRequest({ path: '/healthz' }))
  return { connection, answer: await connection.next() }
}

test('an answer names the time, except where the connection closes', async () => {
  await using gateway = await start()
  expect((await openUsed(gateway.url)).answer.headers.get('keep-alive')).toBe('timeout=72')
  using closing = await openRaw(gateway.url)
  closing.write(toRequest({ path: '/healthz', headers: { connection: 'close' } }))
  const { headers } = await closing.next()
  expect([headers.get('connection'), headers.get('keep-alive')]).toEqual(['close', null])
})

test('an idle connection is closed after the time, one with a request under way is not', async () => {
  await using gateway = await start()
  const { connection: used } = await openUsed(gateway.url)
  using busy = (await openUsed(gateway.url)).connection
  busy.write(toRequest({ path: '/v1/jobs/job_x' }))
  await gateway.asked
  vi.advanceTimersByTime(72_000)
  expect(used.socket.destroyed).toBe(false)
  used.write(toRequest({ path: '/healthz' }))
  expect((await used.next()).status, 'a request just in time').toBe(200)
  vi.advanceTimersByTime(72_000)
  expect(used.socket.destroyed).toBe(false)
  vi.advanceTimersByTime(3000)
  await used.closed
  expect(busy.socket.destroyed).toBe(false)
})
