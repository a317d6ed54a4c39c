// The gateway handles requests that arrive together in one batch.
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { watchChannels } from '../channel-steps.ts'
import { startTestApp } from '../test-app.ts'

const clients = 8

// When Node has parsed the head of a request, and when Fastify runs its handler.
const channels = { 'http.server.request.start': 'read', 'tracing:fastify.request.handler:start': 'handled' }

test('requests that arrive together are all read before the first is handled', async () => {
  await using app = await startTestApp({ MEDIAGEN_ROLES: 'api' })
  const { hostname, port } = new URL(app.url)
  const sockets = Array.from({ length: clients }, () => connect(Number(port), hostname))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  // The server has accepted all of them.
  await app.send('/healthz', { key: null })
  using watched = watchChannels(channels)
  const answers = sockets.map((socket) => once(socket, 'data'))
  for (const socket of sockets) socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
  for (const [bytes] of await Promise.all(answers)) expect(String(bytes)).toMatch(/^HTTP\/1\.1 200 /)
  for (const socket of sockets) socket.destroy()
  expect(watched.steps).toEqual([...Array<string>(clients).fill('read'), ...Array<string>(clients).fill('handled')])
})
