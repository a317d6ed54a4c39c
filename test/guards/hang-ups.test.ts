// Waits end when their client is gone, also if it left before they began.
import { type AddressInfo, connect } from 'node:net'
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { patienceOf, whenClosed } from '../../src/guards/hang-ups.ts'

test('a wait whose client hung up while its key was looked up is over at once, and gives back what it held', async () => {
  await using app = Fastify()
  const seen = Promise.withResolvers<boolean[]>()
  app.get('/', async (request, reply) => {
    client.resetAndDestroy()
    await new Promise((resolve) => request.raw.socket.once('close', resolve))
    let given = false
    whenClosed(reply, () => (given = true))
    seen.resolve([patienceOf(reply, new AbortController().signal).aborted, given])
    return 'nobody reads this'
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  client.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n')
  expect(await seen.promise).toEqual([true, true])
})
