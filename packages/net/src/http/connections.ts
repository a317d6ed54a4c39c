// All connections of a server: their number, those that stall, and how they are closed when the server stops.
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { GuardError } from '../guard-error.ts'
import { createPlaces } from '../places.ts'
import { tooSlow } from '../progress.ts'
import { type Connection, connectionOf, findUnfinished, isIdle, keepConnection, noteRequest } from './connection.ts'
import { keepAliveMs } from './protection.ts'
import { openConnection, type ReadAhead } from './read-ahead.ts'
import { findHeaviest, findStall, isIdleFor, type Stall, type StallBounds } from './stalls.ts'

// Node closes the connections that are idle when it begins to close; those that become idle later wait for this.
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
export interface ConnectionFates {
  /** Sends a refusal on the bare connection and closes it. */
  readonly refuse: (error: Error, socket: Socket) => void
  readonly note: (cut: Cut, socket: Socket) => void
}

/** The connections of a server. */
export interface Connections {
  /** Aborts when the server begins to stop: waits are then answered, and watches end. */
  readonly stopping: AbortSignal
  /** Refuses the latest bytes of a connection after all its earlier requests are answered; whatever still arrives is dropped. */
  refuse(error: Error, socket: Socket): void
  /** Whether reading from a connection is paused because too much is unanswered. */
  isHeld(socket: Socket): boolean
}

/** Bounds the connections of a server, and makes `app.close()` end. */
export function boundConnections(app: FastifyInstance, bounds: ConnectionBounds, fates: ConnectionFates): Connections {
  const connections = new Map<Socket, Connection>()
  const given = new Map<Socket, () => void>()
  const places = createPlaces({ inAll: bounds.maxConnections, perOwner: bounds.maxPerClient })

  function leave(socket: Socket): void {
    if (connections.delete(socket)) given.get(socket)?.()
    given.delete(socket)
    keepConnection(socket, null)
  }

  /** Closes the oldest idle connection; returns false if there is none. */
  function makeRoom(): boolean {
    let looked = 0
    for (const connection of connections.values()) {
      if (isIdle(connection)) {
        leave(connection.socket)
        fates.note('idle', connection.socket)
        connection.socket.destroy()
        return true
      }
      if (++looked === mostLooked) return false
    }
    return false
  }

  app.server.on('connection', (socket) => {
    const client = bounds.toClient(socket.remoteAddress ?? '')
    let place = places.take(client)
    if (place === 'inAll' && makeRoom()) place = places.take(client)
    const connection = openConnection(socket, bounds)
    if (typeof place === 'string') {
      connection.refused = true
      fates.note(place === 'inAll' ? 'connections' : 'connections_per_address', socket)
      fates.refuse(tooMany(place, bounds), socket)
      return
    }
    connections.set(socket, connection)
    keepConnection(socket, connection)
    given.set(socket, place)
    socket.once('close', () => leave(socket))
  })
  app.server.on('request', (request, response) => {
    const connection = connectionOf(request.socket)
    if (connection) noteRequest(connection, request, response)
  })

  function refuse(error: Error, socket: Socket): void {
    const connection = connectionOf(socket)
    if (!connection) return fates.refuse(error, socket)
    connection.refused = true
    const unfinished = findUnfinished(connection)
    const own = connection.unanswered.find(({ req }) => req === unfinished)
    if (own?.headersSent) return void socket.destroy()
    const earlier = connection.unanswered.findLast((answer) => answer !== own && isOpen(answer))
    if (earlier) earlier.once('close', () => fates.refuse(error, socket))
    else fates.refuse(error, socket)
  }

  function look(): void {
    const nowMs = performance.now()
    for (const connection of connections.values()) {
      if (connection.socket.destroyed) continue
      const stall = findStall(connection, bounds, nowMs)
      if (stall === null) {
        if (isIdleFor(connection, idleMs, nowMs)) connection.socket.destroy()
        continue
      }
      fates.note(stall, connection.socket)
      if (stall === 'stalled_body') refuse(tooSlow(bounds.windowMs), connection.socket)
      else connection.socket.destroy()
    }
    for (const { socket } of findHeaviest(connections.values(), bounds.maxUnreadTotalBytes)) {
      fates.note('unread_in_all', socket)
      socket.destroy()
    }
  }

  const timer = setInterval(look, Math.min(lookMs, bounds.windowMs / 4)).unref()
  app.addHook('onClose', (_app, done) => {
    clearInterval(timer)
    done()
  })
  const stopping = boundClose(app, bounds.closeGraceMs, () =>
    [...connections.values()].filter(({ requests }) => requests === 0),
  )
  return { stopping, refuse, isHeld: (socket) => connectionOf(socket)?.held ?? false }
}

function isOpen(answer: ServerResponse): boolean {
  return !answer.writableFinished && !answer.destroyed
}

function tooMany(bound: 'perOwner' | 'inAll', { maxConnections, maxPerClient }: ConnectionBounds): GuardError {
  return bound === 'inAll'
    ? new GuardError(
        'overloaded',
        `This server has ${maxConnections} connections open, which is the limit (MEDIAGEN_MAX_CONNECTIONS). Come back later.`,
        retryAfterSeconds,
      )
    : new GuardError(
        'rate_limited',
        `This address has ${maxPerClient} connections open, which is the limit (MEDIAGEN_MAX_CONNECTIONS_PER_ADDRESS). Close some, or reuse them.`,
        retryAfterSeconds,
      )
}

/**
 * Makes `app.close()` end. By itself it waits for every connection that is not idle, and Node does not count a connection as
 * idle before its first request; browsers and pools open such connections in advance.
 */
function boundClose(app: FastifyInstance, graceMs: () => number, findSilent: () => readonly Connection[]): AbortSignal {
  const stopping = new AbortController()
  let cut: NodeJS.Timeout | undefined
  let sweep: NodeJS.Timeout | undefined
  app.addHook('preClose', (done) => {
    stopping.abort()
    for (const { socket } of findSilent()) socket.destroy()
    sweep = setInterval(() => app.server.closeIdleConnections(), sweepMs)
    cut = setTimeout(() => app.server.closeAllConnections(), graceMs())
    done()
  })
  app.addHook('onClose', (_app, done) => {
    clearInterval(sweep)
    clearTimeout(cut)
    done()
  })
  return stopping.signal
}

// A signal searches all of its listeners when one is added or removed, and thousands may wait: it has one for all of them.
const waits = new WeakMap<AbortSignal, Set<() => void>>()

function findWaits(stopping: AbortSignal): Set<() => void> {
  const found = waits.get(stopping)
  if (found) return found
  const ends = new Set<() => void>()
  waits.set(stopping, ends)
  stopping.addEventListener('abort', () => {
    for (const end of ends) end()
  })
  return ends
}

/** Aborts when the client hangs up or the server stops: that ends the wait, not the job. */
export function patienceOf(reply: FastifyReply, stopping: AbortSignal): AbortSignal {
  const over = new AbortController()
  const end = (): void => over.abort()
  const ends = findWaits(stopping).add(end)
  whenClosed(reply, () => {
    ends.delete(end)
    if (!reply.raw.writableEnded) end()
  })
  if (stopping.aborted) end()
  return over.signal
}

/** Runs `end` when the answer is over or the client has hung up; at once if it has already, while its key was looked up perhaps. */
export function whenClosed({ raw }: FastifyReply, end: () => void): void {
  if (raw.destroyed) end()
  else raw.once('close', end)
}
