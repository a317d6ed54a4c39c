// Finds connections that stall: bodies that stop or never end, and answers that the client does not read.
import type { Socket } from 'node:net'
import { leastProgressBytes } from '../progress.ts'
import { type Connection, countUnread, findUnfinished } from './connection.ts'

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
    connection.answeredSinceMs = null
    return null
  }
  if (isAnswered(connection)) {
    connection.answeredSinceMs ??= nowMs
    return nowMs - connection.answeredSinceMs >= answeredMs ? 'endless_body' : null
  }
  return isBodyLate(connection, body, windowMs, leastBytes, nowMs) ? 'stalled_body' : null
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
