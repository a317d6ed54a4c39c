// A client that stops reading its events amid changes and then leaves: nothing goes on behind its back.
import { connect } from 'node:net'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { GenerationService, JobStatus } from '../../gen/mediagen/v1/generation_pb.ts'
import { overloaded } from '../../src/app/overload.ts'
import { createGateway, listen } from '../../src/gateway/server.ts'
import { createInProcessTransport } from '@mediagen/net/in-process.ts'
import type { StreamCall } from '@mediagen/net/service.ts'
import { roomy } from './bounds.ts'

const job = { jobId: 'job_x', status: JobStatus.RUNNING, billing: {}, createdAt: {} }

/** A gateway in front of a watch that tells of changes without end, and a client that asked for them and reads none. */
async function openUnread(windowMs: number) {
  let told = 0
  let over = false
  // More than the buffers of a connection hold, so that the stream stands still between two changes.
  const watch: StreamCall = async function* (_request, { signal }) {
    try {
      while (!signal.aborted) {
        yield { job: { ...job, model: 'm'.repeat(100_000) }, sequence: BigInt(++told) }
        await new Promise(setImmediate)
      }
    } finally {
      over = true
    }
  }
  const streams = new Map([[GenerationService.method.watchJob, watch]])
  const gateway = createGateway({
    transport: createInProcessTransport([
      { service: GenerationService, singles: new Map(), streams, gates: new Map() },
    ]),
    health: { unready: async () => null, metrics: async () => ({ contentType: 'text/plain', body: '' }) },
    publicUrl: () => '',
    maxUploadBytes: 1024,
    maxBodyBytes: 1024,
    connections: { ...roomy, windowMs },
    downloads: { inAll: 1, perOwner: 1 },
    countCut() {},
    log: pino({ level: 'silent' }),
    keys: {
      authenticate: async () => ({ keyId: 'key_x', accountId: 'acct_x', permissions: ['jobs:read'] }),
      limit() {},
      spend() {},
    },
    maxValues: 100,
    strangers() {},
    maxViolations: 100,
    countRefusal() {},
    findClient: (peer) => peer,
    origins: new Set(),
    overload: { refuses: () => false, refusal: overloaded(1000), connectBody: '' },
    extend() {},
  })
  const url = `http://127.0.0.1:${await listen(gateway, '127.0.0.1', 0)}`
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {}).pause()
  socket.write('GET /v1/jobs/job_x/events HTTP/1.1\r\nHost: test\r\n\r\n')
  return { gateway, socket, told: () => told, isOver: () => over }
}

test('who stops reading amid many changes and then leaves is not watched for any longer', async () => {
  const { gateway, socket, told, isOver } = await openUnread(60_000)
  let before = -1
  await expect
    .poll(() => before === (before = told()) && before > 0, {
      timeout: 8000,
      interval: 200,
      message: 'it stands still',
    })
    .toBe(true)
  expect(isOver()).toBe(false)
  socket.destroy()
  await expect.poll(isOver, { timeout: 2000 }).toBe(true)
  await gateway.close()
})

test('MEDIAGEN_STALL_SECONDS: who stops reading and stays is cut off, and not watched for any longer', async () => {
  const { gateway, socket, isOver } = await openUnread(500)
  await expect.poll(isOver).toBe(true)
  socket.destroy()
  await gateway.close()
})
