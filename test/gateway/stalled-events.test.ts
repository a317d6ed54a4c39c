// A client that stops reading its events amid changes and then leaves: nothing goes on behind its back.
import { connect } from 'node:net'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { GenerationService, JobStatus } from '../../gen/mediagen/v1/generation_pb.ts'
import { createGateway, listen } from '../../src/gateway/server.ts'
import { createInProcessTransport } from '../../src/rpc/in-process.ts'
import type { StreamCall } from '../../src/rpc/pipeline.ts'

const job = { jobId: 'job_x', status: JobStatus.RUNNING, billing: {}, createdAt: {} }

test('who stops reading amid many changes and then leaves is not watched for any longer', async () => {
  let told = 0
  let over = false
  // More than the buffers of a connection hold, so that the stream stands still between two changes.
  const watch: StreamCall = async function* (_read, { signal }) {
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
      { service: GenerationService, unary: new Map(), streams, uploads: new Map(), dialogs: new Map() },
    ]),
    health: { unready: async () => null, metrics: async () => ({ contentType: 'text/plain', body: '' }) },
    publicUrl: () => '',
    maxUploadBytes: 1024,
    maxBodyBytes: 1024,
    stallMs: 60_000,
    log: pino({ level: 'silent' }),
    keys: {
      authenticate: async () => ({ keyId: 'key_x', accountId: 'acct_x', permissions: ['jobs:read'] }),
      limit() {},
    },
    maxValues: 100,
    strangers() {},
    maxViolations: 100,
    countRefusal() {},
    findClient: (peer) => peer,
    extend() {},
  })
  const url = `http://127.0.0.1:${await listen(gateway, '127.0.0.1', 0)}`
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {}).pause()
  socket.write('GET /v1/jobs/job_x/events HTTP/1.1\r\nHost: test\r\n\r\n')
  let before = -1
  await expect
    .poll(() => before === (before = told) && told > 0, { interval: 200, message: 'it stands still' })
    .toBe(true)
  expect(over).toBe(false)
  socket.destroy()
  await expect.poll(() => over).toBe(true)
  await gateway.close()
})
