// Connections of the gRPC port: their number, the limits of each, and stricter limits until a valid key was used on one.
// Node limits a single connection; it knows neither the total of all connections nor which callers have a key.
import { constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { createSlots } from '../../guards/slots.ts'
import { createTokenBuckets } from '../../guards/token-bucket.ts'

/** The limits of connections. */
export interface SessionBounds {
  readonly maxConnections: number
  /** From one client network. */
  readonly maxConnectionsPerAddress: number
  /** Concurrent calls on a connection on which a valid key was used. */
  readonly maxStreams: number
  /** Concurrent calls on any other connection. */
  readonly maxKeylessStreams: number
  /** How long a connection may stay without a key. */
  readonly keylessMs: number
  /** Bytes that may arrive on a connection before a valid key was used. */
  readonly maxKeylessBytes: number
  /** Small pieces of messages per second on a connection. */
  readonly maxFragments: number
  /** Calls per second of one network on connections without a key; the burst is `keylessBurstSeconds`. */
  readonly maxKeylessCalls: number
  /** The client behind an address; null for a trusted proxy, whose connections carry the calls of many. */
  readonly toClient: (address: string) => string | null
}

/** Why the port refuses or ends a connection by itself. */
export type SessionRefusal =
  | 'too_many_connections'
  | 'too_many_connections_of_address'
  | 'too_many_calls_without_key'
  | 'too_many_bytes_without_key'
  | 'no_key_in_time'
  | 'too_many_fragments'

/** One connection. */
export interface Connection {
  readonly session: ServerHttp2Session
  /** The address of its other end. */
  readonly peer: string
  /** Null for a trusted proxy. */
  readonly client: string | null
  readonly openedAtMs: number
  keySeen: boolean
  /** Number of open calls. */
  calls: number
  /** Bytes of unfinished requests and of answers that were not read. */
  heldBytes: number
  /** The number of small pieces of messages since a time. */
  fragments: { sinceMs: number; count: number }
  ping: { sentAtMs: number; answered: boolean }
  /** Frees the slot of the connection; called at the latest when it is closed. */
  readonly leave: () => void
}

/** What sessions need. */
export interface SessionDeps {
  readonly bounds: SessionBounds
  /** A monotonic clock. */
  readonly nowMs: () => number
  /** Begins a session of HTTP/2. */
  shakeHands(socket: Socket): ServerHttp2Session
  /** Serves a stream. */
  serve(connection: Connection, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void
  /** Called for each connection that is refused or ended. */
  report(reason: SessionRefusal, client: string | null): void
}

const keylessBurstSeconds = 30
const pingIntervalMs = 30_000
const pingTimeoutMs = 20_000

/** The connections of one port. */
export interface Sessions {
  /** Begins a session on a connection; closes it when there is no room, and returns null. */
  accept(socket: Socket): Connection | null
  /** A valid key was used on the connection: lifts the limits of connections without one. */
  noteKey(connection: Connection): void
  /** A small piece of a message arrived that does not complete it. */
  noteFragment(connection: Connection): void
  /** Ends connections that are over a limit or no longer answer pings. Called about once a second. */
  sweep(): void
  /** Refuses new calls, waits for calls under way up to `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>
}

/** Creates the connections of a port. */
export function createSessions({ bounds, nowMs, shakeHands, serve, report }: SessionDeps): Sessions {
  // Oldest first.
  const connections = new Set<Connection>()
  const slots = createSlots({ inAll: bounds.maxConnections, perOwner: bounds.maxConnectionsPerAddress })
  const { maxKeylessCalls: perSecond, toClient } = bounds
  const keylessCalls = createTokenBuckets({ perSecond, burst: perSecond * keylessBurstSeconds }, nowMs)
  let allClosed: (() => void) | undefined

  /** Whether the limits of connections without a key apply to a connection. */
  const isUnauthenticated = ({ keySeen, client, session }: Connection): boolean =>
    !keySeen && client !== null && !session.destroyed

  function end(connection: Connection, reason: SessionRefusal): void {
    report(reason, connection.client)
    connection.session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }

  /** Makes room by closing a connection that does nothing: one without a key first, the oldest first. */
  function closeIdle(): boolean {
    const idle = [...connections].filter(({ calls, session }) => calls === 0 && !session.closed)
    const longest = idle.find(({ keySeen }) => !keySeen) ?? idle[0]
    longest?.session.close()
    longest?.leave()
    return longest !== undefined
  }

  function sweepOne(connection: Connection, now: number): void {
    const { session, ping, openedAtMs } = connection
    // A destroyed session has no socket any more.
    if (session.destroyed) return
    if (isUnauthenticated(connection)) {
      if (session.socket.bytesRead > bounds.maxKeylessBytes) return end(connection, 'too_many_bytes_without_key')
      if (now - openedAtMs > bounds.keylessMs) return end(connection, 'no_key_in_time')
    }
    if (!ping.answered) {
      if (now - ping.sentAtMs > pingTimeoutMs) session.destroy()
    } else if (now - ping.sentAtMs > pingIntervalMs) {
      connection.ping = { sentAtMs: now, answered: false }
      session.ping(() => (connection.ping.answered = true))
    }
  }

  /** Takes a slot for a connection; null when there is none. */
  function takeSlot(client: string | null): (() => void) | null {
    let slot = slots.take(client)
    if (slot === 'inAll' && closeIdle()) slot = slots.take(client)
    if (typeof slot === 'function') return once(slot)
    report(slot === 'inAll' ? 'too_many_connections' : 'too_many_connections_of_address', client)
    return null
  }

  function open(socket: Socket, leave: () => void): Connection {
    const now = nowMs()
    const peer = socket.remoteAddress ?? ''
    return {
      session: shakeHands(socket),
      peer,
      client: toClient(peer),
      openedAtMs: now,
      keySeen: false,
      calls: 0,
      heldBytes: 0,
      fragments: { sinceMs: now, count: 0 },
      ping: { sentAtMs: now, answered: true },
      leave,
    }
  }

  /** A call was answered, refused or given up. */
  function endCall(connection: Connection): void {
    connection.calls -= 1
    if (connection.client === null || !isUnauthenticated(connection)) return
    // Counted after the call, so a first call with a valid key is answered wherever it comes from.
    if (keylessCalls.take(connection.client, 1) > 0) end(connection, 'too_many_calls_without_key')
  }

  return {
    accept(socket) {
      const leave = takeSlot(toClient(socket.remoteAddress ?? ''))
      if (!leave) {
        socket.destroy()
        return null
      }
      socket.once('close', leave)
      const connection = open(socket, leave)
      connections.add(connection)
      const { session } = connection
      session.on('stream', (stream, headers) => {
        // An error closes the stream. Without a listener it would end the process.
        stream.on('error', () => {})
        if (session.destroyed || stream.destroyed) return
        connection.calls += 1
        stream.once('close', () => endCall(connection))
        serve(connection, stream, headers)
      })
      // An error closes the connection. Without a listener it would end the process.
      session.on('error', () => {})
      session.once('close', () => {
        connections.delete(connection)
        if (connections.size === 0) allClosed?.()
      })
      return connection
    },
    noteKey(connection) {
      if (connection.keySeen) return
      connection.keySeen = true
      const { session } = connection
      if (!session.closed && !session.destroyed) session.settings({ maxConcurrentStreams: bounds.maxStreams })
    },
    noteFragment(connection) {
      const { fragments } = connection
      fragments.count += 1
      // Reading the clock costs as much as all the rest, so it is read only when the count is exceeded.
      if (fragments.count <= bounds.maxFragments || connection.session.destroyed) return
      const now = nowMs()
      if (now - fragments.sinceMs < 1000) return end(connection, 'too_many_fragments')
      connection.fragments = { sinceMs: now, count: 0 }
    },
    sweep() {
      const now = nowMs()
      for (const connection of connections) sweepOne(connection, now)
    },
    async close(graceMs) {
      if (connections.size === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      allClosed = resolve
      for (const { session } of connections) if (!session.closed) session.close()
      const timer = setTimeout(() => {
        for (const { session } of connections) session.destroy(undefined, constants.NGHTTP2_CANCEL)
      }, graceMs)
      await promise
      clearTimeout(timer)
    },
  }
}

function once(run: () => void): () => void {
  let ran = false
  return () => {
    if (!ran) run()
    ran = true
  }
}
