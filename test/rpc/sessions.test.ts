// What is done about connections of the gRPC port once a second.
import { EventEmitter } from 'node:events'
import type { Http2Session } from 'node:http2'
import { expect, test } from 'vitest'
import { createSessions, type SessionBounds } from '../../src/rpc/sessions.ts'

const bounds: SessionBounds = {
  maxConnections: 10,
  maxConnectionsPerAddress: 10,
  maxStreams: 10,
  maxKeylessStreams: 10,
  keylessMs: 1000,
  maxKeylessBytes: 1000,
  maxKeylessCalls: 10,
}

test('a session that broke and is not closed yet is passed over', () => {
  const reasons: string[] = []
  let ms = 0
  const sessions = createSessions(
    bounds,
    () => ms,
    (reason) => reasons.push(reason),
  )
  const session = Object.assign(new EventEmitter(), { socket: { remoteAddress: '127.0.0.1', bytesRead: 0 } })
  sessions.open(session as unknown as Http2Session)
  // As Node leaves it between destroy() and 'close'.
  Object.assign(session, { socket: undefined, destroyed: true })
  ms = 60_000
  sessions.sweep()
  expect(reasons).toEqual([])
})
