// All connections of a server: their number, those that stall, and how they are closed when the server stops.
import net from 'node:net'
import type { FastifyInstance } from 'fastify'
import { MediagenError } from '../../core/errors.ts'
import { tooSlow } from '../../guards/progress.ts'
import { createSlots } from '../../guards/slots.ts'
import { Connection, type ReadAhead } from './connection.ts'
import { keepAliveMs } from './protection.ts'
import { findHeaviest, Progress, type Stall, type StallBounds } from './stalls.ts'

// Connections that are idle when the server begins to stop are closed at once; those that become idle later wait for this.
const sweepMs = 20
// How often connections are checked for stalls.
const lookMs = 1000
// A second more than answers say.
const idleMs = keepAliveMs + 1000
// To make room, an idle connection is searched among this many of the oldest.
const mostLooked = 1000
const retryAfterSeconds = 5

/** Bounds of the connections of one server. */
export interface ConnectionBounds extends ReadAhead, StallBounds {
  readonly maxConnections: number
  /** How many connections one client may have. */
  readonly maxPerClient: number
  /** How many bytes of answers may wait for clients, on all connections together. */
  readonly maxUnreadTotalBytes: number
  /** Time that requests and answers under way have when the server stops. */
  readonly closeGraceMs: () => number
  /** The client that an address stands for; null for a trusted proxy, which has many. */
  readonly toClient: (address: string) => string | null
}

/** Why a connection was closed or not served. */
export type Cut = Stall | 'idle' | 'connections' | 'connections_per_address' | 'unread_in_all'

/** What to do with connections that are not served. */
export interface ConnectionOutcomes {
  /** Sends a refusal on the bare connection and closes it. */
  readonly refuse: (error: Error, connection: Connection) => void
  readonly note: (cut: Cut, connection: Connection) => void
}

/** The connections of a server. */
export interface Connections {
  /** Aborts when the server begins to stop: waits are then answered, and watches end. */
  readonly stopping: AbortSignal
  /** Refuses the latest bytes of a connection after all its earlier requests are answered; whatever still arrives is dropped. */
  refuse(error: Error, connection: Connection): void
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Accepts the connections of a bounded server (connections.ts); `server` only reads requests from them. */
    readonly listener: net.Server
  }
}

/** A connection that is served. */
interface Served {
  readonly progress: Progress
  /** Gives back the slot of the connection. */
  readonly leave: () => void
}

/** Accepts connections for a server that does not listen itself, bounds them, and makes `app.close()` end. */
export function boundConnections(
  app: FastifyInstance,
  bounds: ConnectionBounds,
  outcomes: ConnectionOutcomes,
): Connections {
  // Oldest first.
  const connections = new Map<Connection, Served>()
  const slots = createSlots({ inAll: bounds.maxConnections, perOwner: bounds.maxPerClient })

  function leave(connection: Connection): void {
    connections.get(connection)?.leave()
    connections.delete(connection)
  }

  /** Closes the oldest idle connection; returns false if there is none. */
  function makeRoom(): boolean {
    let looked = 0
    for (const connection of connections.keys()) {
      if (connection.isIdle) {
        leave(connection)
        outcomes.note('idle', connection)
        connection.destroy()
        return true
      }
      if (++looked === mostLooked) return false
    }
    return false
  }

  const listener = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const connection = new Connection(socket, bounds)
    const client = bounds.toClient(connection.remoteAddress)
    let slot = slots.take(client)
    if (slot === 'inAll' && makeRoom()) slot = slots.take(client)
    // A broken connection is closed.
    connection.on('error', () => {})
    if (typeof slot === 'string') {
      connection.refused = true
      outcomes.note(slot === 'inAll' ? 'connections' : 'connections_per_address', connection)
      outcomes.refuse(tooMany(slot, bounds), connection)
      return
    }
    connections.set(connection, { progress: new Progress(connection, bounds), leave: slot })
    connection.once('close', () => leave(connection))
    app.server.emit('connection', connection)
  })
  app.decorate('listener', listener)
  app.server.prependListener('request', (request, response) => {
    if (request.socket instanceof Connection) request.socket.noteRequest(request, response)
  })

  function refuse(error: Error, connection: Connection): void {
    connection.refused = true
    const { unfinished, unanswered } = connection
    const own = unanswered.find(({ req }) => req === unfinished)
    if (own?.headersSent) return void connection.destroy()
    const earlier = unanswered.findLast((answer) => answer !== own && !answer.writableFinished && !answer.destroyed)
    if (earlier) earlier.once('close', () => outcomes.refuse(error, connection))
    else outcomes.refuse(error, connection)
  }

  function cut(stall: Stall, connection: Connection): void {
    const isRequest = stall === 'stalled_head' || stall === 'stalled_body'
    // Refused already, and earlier requests are still being answered.
    if (isRequest && connection.refused) return
    outcomes.note(stall, connection)
    if (isRequest) refuse(stall === 'stalled_body' ? tooSlow(bounds.windowMs) : tooLate(), connection)
    else connection.destroy()
  }

  function look(): void {
    const nowMs = performance.now()
    for (const [connection, { progress }] of connections) {
      if (connection.destroyed) continue
      const stall = progress.findStall(nowMs)
      if (stall === null) {
        if (progress.isIdleFor(idleMs, nowMs)) connection.destroy()
      } else cut(stall, connection)
    }
    for (const connection of findHeaviest(connections.keys(), bounds.maxUnreadTotalBytes)) {
      outcomes.note('unread_in_all', connection)
      connection.destroy()
    }
  }

  const timer = setInterval(look, Math.min(lookMs, bounds.windowMs / 4)).unref()
  app.addHook('onClose', (_app, done) => {
    clearInterval(timer)
    done()
  })
  const stopping = closeInTime(app, listener, connections, bounds.closeGraceMs)
  return { stopping, refuse }
}

function tooLate(): MediagenError {
  return new MediagenError('request_timeout', 'The request took too long to arrive.')
}

function tooMany(bound: 'perOwner' | 'inAll', { maxConnections, maxPerClient }: ConnectionBounds): MediagenError {
  return bound === 'inAll'
    ? new MediagenError(
        'overloaded',
        `This server has ${maxConnections} connections open, which is the limit (MEDIAGEN_MAX_CONNECTIONS). Come back later.`,
        { retryAfterSeconds },
      )
    : new MediagenError(
        'rate_limited',
        `This address has ${maxPerClient} connections open, which is the limit (MEDIAGEN_MAX_CONNECTIONS_PER_ADDRESS). Close some, or reuse them.`,
        { retryAfterSeconds },
      )
}

/** Makes `app.close()` wait for requests under way, up to the grace, and close all connections. */
function closeInTime(
  app: FastifyInstance,
  listener: net.Server,
  connections: ReadonlyMap<Connection, unknown>,
  graceMs: () => number,
): AbortSignal {
  const stopping = new AbortController()
  app.addHook('preClose', (done) => {
    stopping.abort()
    const closeIdle = (): void => {
      for (const connection of connections.keys())
        if (connection.requests === 0 || (connection.isIdle && connection.headSinceMs === null)) connection.destroy()
    }
    closeIdle()
    const sweep = setInterval(closeIdle, sweepMs)
    const cut = setTimeout(() => {
      for (const connection of connections.keys()) connection.destroy()
    }, graceMs())
    listener.close(() => {
      clearInterval(sweep)
      clearTimeout(cut)
      done()
    })
  })
  return stopping.signal
}
