// An upload that the core refuses before it has read all of it: the client gets the reason of the core.
import type { Transport } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { MediagenError } from '../../src/core/errors.ts'
import { toConnectError } from '../../src/rpc/errors.ts'
import { startBareGateway } from './bare-gateway.ts'

const refusal = toConnectError(new MediagenError('too_many_uploads', 'The account has no space for this file.'), '')

test('a refusal that the transport throws into the pieces of the body is the answer', async () => {
  const transport: Transport = {
    unary: () => expect.unreachable(),
    async stream(_method, _signal, _timeoutMs, _header, input) {
      const pieces = input[Symbol.asyncIterator]()
      expect([await pieces.next(), await pieces.next()]).toMatchObject([{ done: false }, { done: false }])
      // Connect does so when it writes a further piece after the core has answered.
      await pieces.throw?.(refusal).catch(() => {})
      throw refusal
    },
  }
  await using gateway = await startBareGateway(transport)
  const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/files`, {
    method: 'POST',
    headers: { authorization: 'Bearer any', 'content-type': 'image/png' },
    body: Buffer.alloc(100),
  })
  expect([response.status, await response.json()]).toMatchObject([409, { code: 'too_many_uploads' }])
})
