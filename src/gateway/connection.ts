// One connection: what it sent, what of that is not answered yet, and how much it may send ahead of the answers.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What a client may send before it has read the answers. */
export interface ReadAhead {
  /** Requests of one connection that are under way at once. */
  readonly maxPipelined: number
  /** Bytes of answers that wait for the client; while there are more, no further request is read. */
  readonly maxUnreadBytes: number
}

/** A connection. */
export interface Connection {
  readonly socket: Socket
  /** Node's parser. */
  readonly parse: (bytes: Buffer) => void
  /** Answers that are not out, oldest first. */
  readonly unanswered: ServerResponse[]
  /** How many requests came. */
  requests: number
  /** The request that came last. */
  last: IncomingMessage | null
  /** Bytes of the body of `last` that may still come. */
  bodyLeft: number
  /** Whether reading stands still until answers are out. */
  held: boolean
  /** The answer that is waited for before reading goes on. */
  awaited: ServerResponse | null
  /** Whether it was refused: nothing that comes is read any more. */
  refused: boolean
  /** Of the body that comes: whose it is, since when so many bytes are looked for, and how many there were then. */
  body: { of: IncomingMessage; sinceMs: number; bytes: number } | null
  /** Since when a body goes on that was answered; null when none does. */
  answeredSinceMs: number | null
  /** Of the answer that is read: since when so many bytes are looked for, and how many the client's side had taken then. */
  unread: { sinceMs: number; bytes: number } | null
}

// Requests in a chunk of bytes are found by parsing it piece by piece: the first piece holds most requests whole, and behind a
// request that is not answered no piece holds two, since the shortest has 27 bytes.
const firstPiece = 1024
const nextPiece = 32
// Nobody knows where a chunked body ends.
const chunkedPiece = 512

/** What Node keeps of a socket, without types: whether its HTTP server stopped reading, as it does while answers wait. */
type NodeSocket = Socket & { readonly _paused?: boolean }

/** Takes a connection over from Node's HTTP server, which would parse whatever comes. */
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

/** Notes a request when its head was parsed. */
export function noteRequest(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
  const length = request.headers['content-length']
  connection.requests += 1
  connection.last = request
  connection.bodyLeft = length === undefined ? Number.POSITIVE_INFINITY : Number(length)
  dropAnswered(connection)
  connection.unanswered.push(response)
}

/** The request whose body is still on its way; null when there is none. */
export function findUnfinished({ last }: Connection): IncomingMessage | null {
  return last === null || last.complete ? null : last
}

/** Whether nothing is under way: no request, or only a part of one's head. */
export function isIdle(connection: Connection): boolean {
  dropAnswered(connection)
  return connection.unanswered.length === 0 && findUnfinished(connection) === null
}

/** Bytes of answers that wait for the client. */
export function countUnread({ socket, unanswered }: Connection): number {
  let bytes = socket.writableLength
  // Those of the first are with the socket.
  for (let i = 1; i < unanswered.length; i++) bytes += (unanswered[i] as ServerResponse).writableLength
  return bytes
}

/** Parses what came, one request in each turn of the event loop, and stops while there is too much to answer. */
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

/** How many of the next bytes are parsed at once. */
function toPiece(connection: Connection, left: number): number {
  if (findUnfinished(connection) === null)
    return Math.min(left, connection.unanswered.length === 0 ? firstPiece : nextPiece)
  if (connection.bodyLeft === Number.POSITIVE_INFINITY) return Math.min(left, chunkedPiece)
  // What the first piece held of the body is not taken off: as much is read too far at the most.
  const piece = Math.min(left, Math.max(nextPiece, connection.bodyLeft))
  connection.bodyLeft -= piece
  return piece
}

function hasEnough(connection: Connection, { maxPipelined, maxUnreadBytes }: ReadAhead): boolean {
  // The body of a request that was let in is read.
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
  // Others resume the socket, too: whoever reads a body.
  if (answer === undefined || connection.awaited === answer) return
  connection.awaited = answer
  answer.once('close', () => resume(connection))
}

function resume(connection: Connection): void {
  const { socket } = connection
  connection.held = false
  if (!socket.destroyed && !(socket as NodeSocket)._paused) socket.resume()
}
