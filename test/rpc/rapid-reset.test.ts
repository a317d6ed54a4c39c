// Many quick cancels on one HTTP/2 session: the session and the calls beside them live on.
import { once } from 'node:events'
import http2 from 'node:http2'
import { expect, test } from 'vitest'
import { startTestApp } from '../test-app.ts'

const cancels = 2000

test('2000 quick cancels do not hurt a call beside them on the same HTTP/2 session', async () => {
  await using app = await startTestApp()
  const job = (await app.generate('test/gate/text-to-image', app.gate().input, { wait: false })).body
  const session = http2.connect(app.app.grpcUrl ?? '')
  try {
    session.on('error', () => {})
    const headers = {
      ':method': 'POST',
      'content-type': 'application/grpc',
      te: 'trailers',
      authorization: `Bearer ${app.account.key}`,
    }
    const bystander = session.request({ ...headers, ':path': '/mediagen.v1.GenerationService/WatchJob' })
    bystander.on('error', () => {})
    bystander.end(frame(Buffer.concat([Buffer.from([0x0a, job.job_id.length]), Buffer.from(job.job_id)])))
    await once(bystander, 'data')
    for (let at = 0; at < cancels; at += 50) {
      const batch = Array.from({ length: 50 }, () => {
        const stream = session.request({ ...headers, ':path': '/mediagen.v1.WalletService/GetWallet' })
        stream.on('error', () => {})
        stream.close(http2.constants.NGHTTP2_CANCEL)
        return new Promise((resolve) => stream.on('close', resolve))
      })
      await Promise.all(batch)
      expect(session.destroyed, `the session is gone after ${at + 50} cancels`).toBe(false)
    }
    const after = session.request({ ...headers, ':path': '/mediagen.v1.WalletService/GetWallet' })
    after.end(frame(Buffer.alloc(0)))
    after.resume()
    const [trailers] = (await once(after, 'trailers')) as [http2.IncomingHttpHeaders]
    expect(trailers['grpc-status']).toBe('0')
    expect(bystander.closed, 'the watch beside them is still open').toBe(false)
  } finally {
    session.destroy()
  }
})

/** A gRPC message on the wire: not compressed, its length, itself. */
function frame(message: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}
