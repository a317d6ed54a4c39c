// Connections that stand still: bodies that do not come or never end, and answers that nobody reads.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { leastProgressBytes } from '../runtime/progress.ts'
import { type Connection, countUnread, findUnfinished } from './connection.ts'

/** In milliseconds and bytes. */
export interface StallBounds {
  /** In so long a time … */
  readonly windowMs: number
  /** … so many bytes of a body come, or its end; and so many of an answer are taken, or all of it. Default: `leastProgressBytes`. */
  readonly leastBytes?: number
  /** What nobody reads any more, since the request is answered, is listened to for so long. Default: 5 s. */
  readonly answeredMs?: number
}

/** What a connection is cut off for. */
export type Stall = 'stalled_body' | 'endless_body' | 'unread'

const usualAnsweredMs = 5000

/** What Node keeps of a socket, without types. Its own time-outs look at both. */
type NodeSocket = Socket & {
  readonly _bytesDispatched: number
  readonly _handle: { readonly writeQueueSize: number } | null
}

/** Looks at a connection from time to time; answers with what it is to be cut off for. */
export function findStall(connection: Connection, bounds: StallBounds, nowMs: number): Stall | null {
  const { windowMs, leastBytes = leastProgressBytes, answeredMs = usualAnsweredMs } = bounds
  if (isUnread(connection, windowMs, leastBytes, nowMs)) return 'unread'
  const body = findUnfinished(connection)
  // A client whose bytes nobody reads cannot be blamed.
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

function isBodyLate(
  connection: Connection,
  of: IncomingMessage,
  windowMs: number,
  leastBytes: number,
  nowMs: number,
): boolean {
  const bytes = connection.socket.bytesRead
  const { body } = connection
  if (body?.of === of && bytes - body.bytes < leastBytes) return nowMs - body.sinceMs >= windowMs
  connection.body = { of, sinceMs: nowMs, bytes }
  return false
}

/** Whether the request whose body still comes is answered: only the last can be. */
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

/** Connections to be cut off so that what nobody reads takes no more than `mostBytes` in all: those with the most first. */
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
