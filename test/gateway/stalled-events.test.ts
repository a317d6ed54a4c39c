// Clients that stop reading their events: the watch behind them ends.
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { GenerationService, JobStatus } from '../../gen/mediagen/v1/generation_pb.ts'
import { createInProcessTransport } from '../../src/rpc/in-process.ts'
import type { StreamCall } from '../../src/services/calls/service.ts'
import { startBareGateway } from './bare-gateway.ts'

const job = { jobId: 'job_x', status: JobStatus.RUNNING, billing: {}, createdAt: {} }

/** A gateway in front of a watch with endless changes, and a client that asked for them and reads none. */
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
  const transport = createInProcessTransport([
    { service: GenerationService, singles: new Map(), streams, gates: new Map() },
  ])
  const gateway = await startBareGateway(transport, { windowMs })
  const socket = connect(gateway.port, '127.0.0.1')
  socket.on('error', () => {}).pause()
  socket.write('GET /v1/jobs/job_x/events HTTP/1.1\r\nHost: test\r\n\r\n')
  return {
    socket,
    told: () => told,
    isOver: () => over,
    async [Symbol.asyncDispose]() {
      socket.destroy()
      await gateway[Symbol.asyncDispose]()
    },
  }
}

test('the watch of a client that stops reading and then leaves ends', async () => {
  await using unread = await openUnread(60_000)
  let before = -1
  await expect
    .poll(() => before === (before = unread.told()) && before > 0, { interval: 200, message: 'it stands still' })
    .toBe(true)
  expect(unread.isOver()).toBe(false)
  unread.socket.destroy()
  await expect.poll(unread.isOver).toBe(true)
})

test('MEDIAGEN_STALL_SECONDS: a client that stops reading and stays is cut off, and its watch ends', async () => {
  await using unread = await openUnread(500)
  await expect.poll(unread.isOver).toBe(true)
})
