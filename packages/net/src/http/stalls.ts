// Finds connections that stall (bodies that stop or never end, answers that the client does not read), and those that are idle.
import type { Socket } from 'node:net'
import { leastProgressBytes } from '../progress.ts'
import { type Connection, countUnread, findUnfinished, isIdle } from './connection.ts'

/** In milliseconds and bytes. */
export interface StallBounds {
  /** The time window. */
  readonly windowMs: number
  /** Bytes of a body that must arrive in each window, and of an answer that must be read, or the rest of it. Default: `leastProgressBytes`. */
  readonly leastBytes?: number
  /** How long a body may continue after its request is answered. Default: 5 s. */
  readonly answeredMs?: number
}

/** Why a connection is cut off. */
export type Stall = 'stalled_body' | 'endless_body' | 'unread'

const usualAnsweredMs = 5000

/** Properties that Node does not declare; its own socket timeouts use both. */
type NodeSocket = Socket & {
  readonly _bytesDispatched: number
  readonly _handle: { readonly writeQueueSize: number } | null
}

/** Checks a connection; call it at regular intervals. Returns why it must be cut off, or null. */
export function findStall(connection: Connection, bounds: StallBounds, nowMs: number): Stall | null {
  const { windowMs, leastBytes = leastProgressBytes, answeredMs = usualAnsweredMs } = bounds
  if (isUnread(connection, windowMs, leastBytes, nowMs)) return 'unread'
  const body = findUnfinished(connection)
  // While the server itself does not read, the client is not late.
  if (body === null || connection.socket.isPaused()) {
    connection.body = null
    connection.answered = null
    return null
  }
  if (isAnswered(connection)) {
    if (connection.answered?.of !== body) connection.answered = { of: body, sinceMs: nowMs }
    return nowMs - connection.answered.sinceMs >= answeredMs ? 'endless_body' : null
  }
  return isBodyLate(connection, body, windowMs, leastBytes, nowMs) ? 'stalled_body' : null
}

/**
 * Whether nothing has arrived for this long on a connection whose requests are answered; call it at regular intervals. Node's
 * own timeout, which it sets and clears for every request, is off. Its `headersTimeout` bounds the wait for a first request.
 */
export function isIdleFor(connection: Connection, idleMs: number, nowMs: number): boolean {
  if (connection.requests === 0 || !isIdle(connection)) {
    connection.idle = null
    return false
  }
  const bytes = connection.socket.bytesRead
  if (connection.idle?.bytes === bytes) return nowMs - connection.idle.sinceMs >= idleMs
  connection.idle = { sinceMs: nowMs, bytes }
  return false
}

function isBodyLate(connection: Connection, of: object, windowMs: number, leastBytes: number, nowMs: number): boolean {
  const bytes = connection.socket.bytesRead
  const { body } = connection
  if (body?.of === of && bytes - body.bytes < leastBytes) return nowMs - body.sinceMs >= windowMs
  connection.body = { of, sinceMs: nowMs, bytes }
  return false
}

/** Whether the latest request is answered. */
function isAnswered({ unanswered }: Connection): boolean {
  return unanswered.at(-1)?.writableFinished ?? true
}

function isUnread(connection: Connection, windowMs: number, leastBytes: number, nowMs: number): boolean {
  if (connection.socket.writableLength === 0) {
    connection.unread = null
    return false
  }
  const { _bytesDispatched, _handle } = connection.socket as NodeSocket
  const bytes = _bytesDispatched - (_handle?.writeQueueSize ?? 0)
  const { unread } = connection
  if (unread !== null && bytes - unread.bytes < leastBytes) return nowMs - unread.sinceMs >= windowMs
  connection.unread = { sinceMs: nowMs, bytes }
  return false
}

/** The connections to cut off, those with the most unread bytes first, so that no more than `mostBytes` remain in total. */
export function findHeaviest(connections: Iterable<Connection>, mostBytes: number): Connection[] {
  const unread: { connection: Connection; bytes: number }[] = []
  let sum = 0
  for (const connection of connections) {
    const bytes = countUnread(connection)
    if (bytes === 0) continue
    sum += bytes
    unread.push({ connection, bytes })
  }
  if (sum <= mostBytes) return []
  const heaviest: Connection[] = []
  for (const { connection, bytes } of unread.toSorted((a, b) => b.bytes - a.bytes)) {
    if (sum <= mostBytes) break
    heaviest.push(connection)
    sum -= bytes
  }
  return heaviest
}
