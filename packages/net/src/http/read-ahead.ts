// Reads from connections: how far a client may send ahead of the answers.
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import {
  type Connection,
  countUnread,
  createConnection,
  dropAnswered,
  dropComplete,
  findUnfinished,
} from './connection.ts'
import { readIntoShared } from './read-buffer.ts'
import { parseShedding, type TurnAway } from './turn-away.ts'

/** How far a client may send ahead of the answers. */
export interface ReadAhead {
  /** How many requests of one connection are processed at once. */
  readonly maxPipelined: number
  /** How many bytes of answers may wait for the client; beyond that, no further request is read. */
  readonly maxUnreadBytes: number
  /** Absent on a server that is never overloaded. */
  readonly turnAway?: TurnAway
}

// A chunk of bytes is parsed in pieces, to stop between two requests. The first piece is large enough for most requests. While a
// request is unanswered, the pieces are too small for two requests: the shortest has 27 bytes.
const firstPiece = 1024
const nextPiece = 32
// The length of a chunked body is unknown.
const chunkedPiece = 512

/** A property that Node does not declare: whether its HTTP server paused the socket, as it does while answers wait. */
type NodeSocket = Socket & { readonly _paused?: boolean }

/** Puts itself between a socket and Node's parser, which would parse everything at once. */
export function openConnection(socket: Socket, bounds: ReadAhead): Connection {
  const [parse] = socket.listeners('data') as [(bytes: Buffer) => void]
  const connection = createConnection(socket, parse)
  socket.removeListener('data', parse)
  socket.on('data', (bytes: Buffer) => read(connection, bytes, bounds))
  readIntoShared(socket, (bytes) => read(connection, bytes, bounds))
  return connection
}

/** Parses received bytes, one request per turn of the event loop, and pauses while too much is unanswered. */
function read(connection: Connection, bytes: Buffer, bounds: ReadAhead): void {
  const { socket } = connection
  connection.held = false
  for (let at = 0; at < bytes.length;) {
    if (connection.refused || socket.destroyed) return
    if (socket.isPaused() || (socket as NodeSocket)._paused) return hold(connection, bytes.subarray(at))
    if (hasEnough(connection, bounds)) {
      hold(connection, bytes.subarray(at))
      return resumeAfter(connection, connection.unanswered[0])
    }
    const { requests } = connection
    const end = at + toPiece(connection, bytes.length - at)
    parse(connection, at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end), bounds)
    at = end
    if (connection.requests !== requests && at < bytes.length && findUnfinished(connection) === null) {
      hold(connection, bytes.subarray(at))
      setImmediate(resume, connection)
      return
    }
  }
}

function parse(connection: Connection, bytes: Buffer, { turnAway }: ReadAhead): void {
  const { last } = connection
  const isDropping = last !== null && !last.complete && 'dropped' in last
  if (turnAway && (isDropping || turnAway.isShedding())) parseShedding(connection, bytes, turnAway)
  else connection.parse(bytes)
  dropComplete(connection)
}

/** The number of bytes to parse next. */
function toPiece(connection: Connection, left: number): number {
  if (findUnfinished(connection) === null)
    return Math.min(left, connection.unanswered.length === 0 ? firstPiece : nextPiece)
  if (connection.bodyLeft === Number.POSITIVE_INFINITY) return Math.min(left, chunkedPiece)
  // The part of the body in the first piece is not subtracted, so parsing may overshoot the end by that piece.
  const piece = Math.min(left, Math.max(nextPiece, connection.bodyLeft))
  connection.bodyLeft -= piece
  return piece
}

function hasEnough(connection: Connection, { maxPipelined, maxUnreadBytes }: ReadAhead): boolean {
  // The body of an accepted request is always read.
  if (connection.unanswered.length === 0 || findUnfinished(connection) !== null) return false
  dropAnswered(connection)
  return connection.unanswered.length >= maxPipelined || countUnread(connection) > maxUnreadBytes
}

function hold(connection: Connection, rest: Buffer): void {
  connection.held = true
  connection.socket.pause()
  // A copy: these bytes are in the buffer of all connections.
  connection.socket.unshift(Buffer.from(rest))
}

function resumeAfter(connection: Connection, answer: ServerResponse | undefined): void {
  // Readers of bodies resume the socket too, so this may be called again for the same answer.
  if (answer === undefined || connection.awaited === answer) return
  connection.awaited = answer
  answer.once('close', () => resume(connection))
}

function resume(connection: Connection): void {
  const { socket } = connection
  connection.held = false
  if (!socket.destroyed && !(socket as NodeSocket)._paused) socket.resume()
}
