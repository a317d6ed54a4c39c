// One connection of the HTTP port: its unanswered requests, and how far its client may send ahead of the answers.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How far a client may send ahead of the answers. */
export interface ReadAhead {
  /** How many requests of one connection are processed at once. */
  readonly maxPipelined: number
  /** How many bytes of answers may wait for the client; beyond that, no further request is read. */
  readonly maxUnreadBytes: number
}

/** A connection. */
export interface Connection {
  readonly socket: Socket
  /** Node's parser. */
  readonly parse: (bytes: Buffer) => void
  /** Answers that are not sent completely, oldest first. */
  readonly unanswered: ServerResponse[]
  /** The number of requests so far. */
  requests: number
  /** The latest request. */
  last: IncomingMessage | null
  /** Bytes of the body of `last` that may still come. */
  bodyLeft: number
  /** Whether reading is paused until answers are sent. */
  held: boolean
  /** The answer after which reading continues. */
  awaited: ServerResponse | null
  /** Whether the connection was refused: whatever still arrives is dropped. */
  refused: boolean
  /** The body that is being received: its request, and when the current time window began, at how many bytes. */
  body: { of: IncomingMessage; sinceMs: number; bytes: number } | null
  /** When the request was answered although its body still arrives; null if there is none. */
  answeredSinceMs: number | null
  /** The answer that is being sent: when the current time window began, at how many bytes. */
  unread: { sinceMs: number; bytes: number } | null
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
  const connection: Connection = {
    socket,
    parse,
    unanswered: [],
    requests: 0,
    last: null,
    bodyLeft: 0,
    held: false,
    awaited: null,
    refused: false,
    body: null,
    answeredSinceMs: null,
    unread: null,
  }
  socket.removeListener('data', parse)
  socket.on('data', (bytes: Buffer) => read(connection, bytes, bounds))
  return connection
}

/** Records a request when its head is parsed. */
export function noteRequest(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
  const length = request.headers['content-length']
  connection.requests += 1
  connection.last = request
  connection.bodyLeft = length === undefined ? Number.POSITIVE_INFINITY : Number(length)
  dropAnswered(connection)
  connection.unanswered.push(response)
}

/** The request whose body is still being received; null if there is none. */
export function findUnfinished({ last }: Connection): IncomingMessage | null {
  return last === null || last.complete ? null : last
}

/** Whether no request is under way; a part of a head is none. */
export function isIdle(connection: Connection): boolean {
  dropAnswered(connection)
  return connection.unanswered.length === 0 && findUnfinished(connection) === null
}

/** The number of bytes of answers that wait for the client. */
export function countUnread({ socket, unanswered }: Connection): number {
  let bytes = socket.writableLength
  // The bytes of the first answer are in the buffer of the socket.
  for (let i = 1; i < unanswered.length; i++) bytes += (unanswered[i] as ServerResponse).writableLength
  return bytes
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
    connection.parse(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
    at = end
    if (connection.requests !== requests && at < bytes.length && findUnfinished(connection) === null) {
      hold(connection, bytes.subarray(at))
      setImmediate(resume, connection)
      return
    }
  }
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

function dropAnswered({ unanswered }: Connection): void {
  while (unanswered[0] !== undefined && (unanswered[0].writableFinished || unanswered[0].destroyed)) unanswered.shift()
}

function hold(connection: Connection, rest: Buffer): void {
  connection.held = true
  connection.socket.pause()
  connection.socket.unshift(rest)
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
