// The one thing of grpc-js that is not documented: where it keeps its HTTP/2 server.
import type { ServerHttp2Stream } from 'node:http2'
import * as grpc from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { createStreamInjector } from '../src/node-internals.ts'

test('grpc-js answers a stream that is injected', () => {
  const answers: unknown[] = []
  const stream = { once() {}, respond: (headers: object) => void answers.push(headers) }
  const inject = createStreamInjector(new grpc.Server())
  inject(stream as unknown as ServerHttp2Stream, { ':path': '/no.such/Method', 'content-type': 'application/grpc' })
  expect(answers).toEqual([expect.objectContaining({ 'grpc-status': grpc.status.UNIMPLEMENTED })])
})

test.for([undefined, new Map(), new Map([[{}, {}]])])(
  'a grpc-js that keeps it elsewhere is refused by name',
  (kept) => {
    const server = { createConnectionInjector() {}, http2Servers: kept }
    expect(() => createStreamInjector(server as unknown as grpc.Server)).toThrow(
      'does not keep its HTTP/2 servers in `http2Servers`',
    )
  },
)
