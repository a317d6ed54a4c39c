// Which requests are handled together.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate as nextRound } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { mostInBatch } from '../src/batches.ts'
import { handleInBatches } from '../src/http/batches.ts'

function openListener() {
  const handled: string[] = []
  const listener = handleInBatches(({ url = '' }) => void handled.push(url))
  const arrive = (url: string, destroyed = false): void =>
    listener({ url, destroyed } as IncomingMessage, {} as ServerResponse & { req: IncomingMessage })
  return { handled, arrive }
}

test('requests are handled in their order when all that were ready have been read', async () => {
  const { handled, arrive } = openListener()
  arrive('a')
  arrive('b')
  expect(handled).toEqual([])
  await nextRound()
  expect(handled).toEqual(['a', 'b'])
  arrive('c')
  await nextRound()
  expect(handled).toEqual(['a', 'b', 'c'])
})

test('a full batch is handled at once, and those behind it in the next', async () => {
  const { handled, arrive } = openListener()
  for (let i = 1; i < mostInBatch; i++) arrive(String(i))
  expect(handled).toHaveLength(0)
  arrive(String(mostInBatch))
  expect(handled).toHaveLength(mostInBatch)
  arrive('late')
  expect(handled).toHaveLength(mostInBatch)
  await nextRound()
  expect(handled.at(-1)).toBe('late')
})

test('a request that broke off is not handled', async () => {
  const { handled, arrive } = openListener()
  arrive('broken off', true)
  arrive('there')
  await nextRound()
  expect(handled).toEqual(['there'])
})

async function serve(handle: RequestListener) {
  const server = createServer(handleInBatches(handle)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, [Symbol.asyncDispose]: async () => void server.close() }
}

test('requests of many connections are whole when they are handled', async () => {
  await using served = await serve((request, response) => void request.pipe(response))
  const bodies = Array.from({ length: 3 * mostInBatch }, (_, i) => `body ${i}`)
  const answers = bodies.map(async (body) => {
    const response = await fetch(`http://127.0.0.1:${served.port}/`, { method: 'POST', body })
    return response.text()
  })
  expect(await Promise.all(answers)).toEqual(bodies)
})

test('a client that closes its side behind its request is answered', async () => {
  await using served = await serve((_request, response) => void response.end('an answer'))
  const socket = connect(served.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.end('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  expect(await text(socket)).toContain('an answer')
})
