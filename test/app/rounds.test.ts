// The end of a round, while more sockets are ready than libuv takes from the system at once.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { openRounds } from '../../src/app/doors/rounds.ts'

const pairs = 1300
const rounds = 3

/** Clients that send again as soon as they are answered; `onRead` is called whenever the server has read from one. */
async function openClients(onRead: () => void) {
  const accepted: Socket[] = []
  const server = createServer((socket) => {
    accepted.push(socket)
    // At the end all are cut off.
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      onRead()
      socket.write(bytes)
    })
  })
  server.listen(0, '127.0.0.1', pairs)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const clients = Array.from({ length: pairs }, () => connect(port, '127.0.0.1'))
  while (accepted.length < pairs) await once(server, 'connection')
  for (const client of clients) client.on('error', () => {}).on('data', (bytes) => client.write(bytes))
  return {
    start() {
      for (const client of clients) client.write('x')
    },
    [Symbol.dispose]() {
      for (const socket of [...clients, ...accepted]) socket.destroy()
      server.close()
    },
  }
}

test('a round ends when each socket that was ready has been read once, not when libuv stops asking for more', async () => {
  using marks = openRounds()
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const reads: number[] = []
  let isInRound = false
  using clients = await openClients(() => {
    if (!isInRound) {
      isInRound = true
      reads.push(0)
      marks.atEnd(() => {
        isInRound = false
        if (reads.length === rounds) resolve()
      })
    }
    reads.push((reads.pop() ?? 0) + 1)
  })
  clients.start()
  await over
  expect(Math.max(...reads)).toBeLessThanOrEqual(2 * pairs)
  expect(Math.max(...reads), 'so many were ready').toBeGreaterThan(1024)
})
