// Connections of the gRPC port over time: a peer that is gone, a trusted proxy, slots that are free again.
import { EventEmitter } from 'node:events'
import type { ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { type Connection, createSessions, type SessionBounds } from '../../src/rpc/grpc/sessions.ts'

const bounds: SessionBounds = {
  maxConnections: 3,
  maxConnectionsPerAddress: 2,
  maxStreams: 1000,
  maxKeylessStreams: 100,
  keylessMs: 30_000,
  maxKeylessBytes: 1000,
  maxFragments: 5000,
  maxKeylessCalls: 1,
  toClient: (address) => (address === 'proxy' ? null : address),
}

class FakeSession extends EventEmitter {
  readonly socket: { remoteAddress: string; bytesRead: number }
  closed = false
  destroyed = false
  pings: (() => void)[] = []
  readonly settled: object[] = []

  constructor(remoteAddress: string) {
    super()
    this.socket = { remoteAddress, bytesRead: 0 }
  }

  ping(pong: () => void): boolean {
    return this.pings.push(pong) > 0
  }

  settings(settings: object): void {
    this.settled.push(settings)
  }

  close(): void {
    this.closed = true
  }

  destroy(): void {
    this.closed = this.destroyed = true
    this.emit('close')
  }
}

function openSessions() {
  const reasons: string[] = []
  const connections = new Map<FakeSession | null, Connection>()
  let nowMs = 0
  const sessions = createSessions({
    bounds,
    nowMs: () => nowMs,
    shakeHands: (socket) => new FakeSession(socket.remoteAddress ?? '') as unknown as ServerHttp2Session,
    serve() {},
    report: (reason) => reasons.push(reason),
  })
  /** Null when the connection was refused. */
  function connect(address: string): FakeSession | null {
    const socket = Object.assign(new EventEmitter(), { remoteAddress: address, destroy() {} })
    const connection = sessions.accept(socket as unknown as Socket)
    if (!connection) return null
    const session = connection.session as unknown as FakeSession
    session.once('close', () => socket.emit('close'))
    connections.set(session, connection)
    return session
  }
  return {
    reasons,
    sessions,
    connect,
    find: (session: FakeSession | null) => connections.get(session)!,
    pass(ms: number) {
      nowMs += ms
      sessions.sweep()
    },
  }
}

/** Begins a call and gives it up. */
function call(session: FakeSession | null): void {
  const stream = new EventEmitter()
  session?.emit('stream', stream, {})
  stream.emit('close')
}

test('a peer that answers PINGs stays, one that does not is closed', () => {
  const { connect, find, sessions, pass } = openSessions()
  const [alive, gone] = [connect('a'), connect('b')]
  for (const session of [alive, gone]) sessions.noteKey(find(session))
  pass(30_001)
  alive?.pings[0]?.()
  pass(19_999)
  expect(gone?.destroyed).toBe(false)
  pass(2)
  expect([alive?.destroyed, gone?.destroyed]).toEqual([false, true])
  pass(10_000)
  expect(alive?.pings).toHaveLength(2)
})

test('a trusted proxy is bound by no address, by no key and by no number of calls', () => {
  const { connect, pass, reasons } = openSessions()
  const session = connect('proxy')
  connect('proxy')
  expect(connect('proxy')).not.toBeNull()
  for (let at = 0; at < 1000; at++) call(session)
  if (session) session.socket.bytesRead = 1_000_000
  session?.once('close', () => expect.unreachable())
  pass(29_000)
  pass(2000)
  expect(reasons).toEqual([])
})

test('a slot is free when its connection is closed, and once only', () => {
  const { connect, reasons } = openSessions()
  const first = connect('a')
  connect('a')
  expect(connect('a')).toBeNull()
  first?.destroy()
  first?.emit('close')
  expect(connect('a')).not.toBeNull()
  expect(connect('a')).toBeNull()
  expect(reasons).toEqual(['too_many_connections_of_address', 'too_many_connections_of_address'])
})

test('where all slots are taken, the idle connection that came first makes room', () => {
  const { connect, find, sessions, reasons } = openSessions()
  const [busy, keyed, idle] = [connect('a'), connect('b'), connect('c')]
  find(busy).calls = 1
  sessions.noteKey(find(keyed))
  expect(connect('d')).not.toBeNull()
  expect([busy?.closed, keyed?.closed, idle?.closed]).toEqual([false, false, true])
  expect(connect('e')).not.toBeNull()
  expect(reasons).toEqual([])
})

test('a session that broke and is not closed yet is passed over', () => {
  const { connect, pass, reasons } = openSessions()
  const session = connect('a')
  // As Node leaves it between destroy() and 'close'.
  Object.assign(session ?? {}, { socket: undefined, destroyed: true })
  pass(60_000)
  expect(reasons).toEqual([])
})
