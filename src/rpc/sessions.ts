// Connections of the gRPC port: how many there may be, what each may do, and what becomes of those on which no key is seen.
// Node bounds what one connection may do; what all may do together, and what only callers with a key may do, it cannot know.
import { constants, type Http2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { createTokenBuckets } from '../runtime/token-bucket.ts'
import { toClientNetwork } from '../net/client-address.ts'

/** How much connections may take. */
export interface SessionBounds {
  readonly maxConnections: number
  /** From one client network. */
  readonly maxConnectionsPerAddress: number
  /** Calls at once on a connection on which a key was seen. */
  readonly maxStreams: number
  /** Calls at once on any other. */
  readonly maxKeylessStreams: number
  /** How long a connection may stay without a key. */
  readonly keylessMs: number
  /** What may come on a connection before a key is seen. */
  readonly maxKeylessBytes: number
  /** Calls each second of one network on connections without a key; many seconds' worth at once. */
  readonly maxKeylessCalls: number
}

/** Why the port refuses or ends a connection by itself. */
export type SessionRefusal =
  | 'too_many_connections'
  | 'too_many_connections_of_address'
  | 'too_many_calls_without_key'
  | 'too_many_bytes_without_key'
  | 'no_key_in_time'

/** One connection. */
export interface Connection {
  readonly session: Http2Session
  readonly network: string
  readonly openedAtMs: number
  keySeen: boolean
  /** Calls that are open. */
  calls: number
  /** Bytes of unfinished requests and of answers that were not read. */
  heldBytes: number
  ping: { sentAtMs: number; answered: boolean }
}

const keylessBurstSeconds = 30
const pingIntervalMs = 30_000
const pingTimeoutMs = 20_000

/** The connections of one port. */
export interface Sessions {
  /** Whether there is room for a connection; what there is none for is closed. */
  admit(socket: Socket): boolean
  /** Begins a session on a connection that was admitted. */
  open(session: Http2Session): void
  find(session: Http2Session | undefined): Connection | undefined
  /** Lifts what holds for strangers alone. */
  noteKey(connection: Connection): void
  /** A call was answered, refused or given up. */
  noteCall(connection: Connection): void
  /** Ends what has had its time. Called about once a second. */
  sweep(): void
  /** Takes nothing new, waits for calls under way up to `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>
}

/**
 * Creates the connections of a port.
 * @param nowMs a clock that does not go back
 * @param report told of each connection that is refused or ended
 */
export function createSessions(
  bounds: SessionBounds,
  nowMs: () => number,
  report: (reason: SessionRefusal, network: string) => void,
): Sessions {
  const connections = new Map<Http2Session, Connection>()
  const sockets = new Map<string, number>()
  const { maxKeylessCalls: perSecond } = bounds
  const keylessCalls = createTokenBuckets({ perSecond, burst: perSecond * keylessBurstSeconds }, nowMs)
  let socketCount = 0
  let allClosed: (() => void) | undefined

  function end(connection: Connection, reason: SessionRefusal): void {
    report(reason, connection.network)
    connection.session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }

  /** Makes room by closing a connection that does nothing: one without a key first, the oldest first. */
  function closeIdle(): boolean {
    const idle = [...connections.values()].filter(({ calls, session }) => calls === 0 && !session.closed)
    const longest = idle.find(({ keySeen }) => !keySeen) ?? idle[0]
    longest?.session.close()
    return longest !== undefined
  }

  function sweepOne(connection: Connection, now: number): void {
    const { session, ping, openedAtMs } = connection
    // One that broke has no socket any more, and closes soon.
    if (session.destroyed) return
    if (!connection.keySeen) {
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

  return {
    admit(socket) {
      const network = toClientNetwork(socket.remoteAddress ?? null)
      const beside = sockets.get(network) ?? 0
      const reason =
        beside >= bounds.maxConnectionsPerAddress
          ? 'too_many_connections_of_address'
          : socketCount >= bounds.maxConnections && !closeIdle()
            ? 'too_many_connections'
            : null
      if (reason) {
        report(reason, network)
        socket.destroy()
        return false
      }
      sockets.set(network, beside + 1)
      socketCount += 1
      socket.once('close', () => {
        socketCount -= 1
        const left = (sockets.get(network) ?? 1) - 1
        if (left === 0) sockets.delete(network)
        else sockets.set(network, left)
      })
      return true
    },
    open(session) {
      const now = nowMs()
      const network = toClientNetwork(session.socket.remoteAddress ?? null)
      const ping = { sentAtMs: now, answered: true }
      connections.set(session, { session, network, openedAtMs: now, keySeen: false, calls: 0, heldBytes: 0, ping })
      // A connection that breaks is closed; there is nobody to tell.
      session.on('error', () => {})
      session.once('close', () => {
        connections.delete(session)
        if (connections.size === 0) allClosed?.()
      })
    },
    find: (session) => session && connections.get(session),
    noteKey(connection) {
      if (connection.keySeen) return
      connection.keySeen = true
      if (!connection.session.closed) connection.session.settings({ maxConcurrentStreams: bounds.maxStreams })
    },
    noteCall(connection) {
      if (connection.keySeen || connection.session.destroyed) return
      // Behind the call and not before it: a first call with a valid key is answered wherever it comes from.
      if (keylessCalls.take(connection.network, 1) > 0) end(connection, 'too_many_calls_without_key')
    },
    sweep() {
      const now = nowMs()
      for (const connection of connections.values()) sweepOne(connection, now)
    },
    async close(graceMs) {
      if (connections.size === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      allClosed = resolve
      for (const { session } of connections.values()) if (!session.closed) session.close()
      const timer = setTimeout(() => {
        for (const { session } of connections.values()) session.destroy(undefined, constants.NGHTTP2_CANCEL)
      }, graceMs)
      await promise
      clearTimeout(timer)
    },
  }
}
