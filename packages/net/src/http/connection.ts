// One connection of the HTTP port: its unanswered requests.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** A request that was refused while its body arrives. */
export interface Dropped {
  complete: boolean
  readonly dropped: true
}

/** A property that Node does not declare: the answer that has its turn on a socket, if there is one. */
type NodeSocket = Socket & { readonly _httpMessage?: ServerResponse | null }

const kept = Symbol('connection')

/** Keeps the connection of a socket with it, where it is found sooner than in a map; null once it is over. */
export function keepConnection(socket: Socket, connection: Connection | null): void {
  ;(socket as { [kept]?: Connection | null })[kept] = connection
}

/** The connection of a socket. */
export function connectionOf(socket: Socket): Connection | null {
  return (socket as { [kept]?: Connection | null })[kept] ?? null
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
  /** The latest request, until it is complete. */
  last: IncomingMessage | Dropped | null
  /** Bytes of the body of `last` that may still come. */
  bodyLeft: number
  /** Whether reading is paused until answers are sent. */
  held: boolean
  /** The answer after which reading continues. */
  awaited: ServerResponse | null
  /** Whether the connection was refused: whatever still arrives is dropped. */
  refused: boolean
  /** The body that is being received: its request, and when the current time window began, at how many bytes. */
  body: { of: object; sinceMs: number; bytes: number } | null
  /** The body that still arrives although its request was answered: the request, and since when. */
  answered: { of: object; sinceMs: number } | null
  /** The answer that is being sent: when the current time window began, at how many bytes. */
  unread: { sinceMs: number; bytes: number } | null
  /** While no request is under way: since when nothing arrived, and how many bytes had arrived by then. */
  idle: { sinceMs: number; bytes: number } | null
}

/** A connection without requests. @param parse Node's parser */
export function createConnection(socket: Socket, parse: Connection['parse']): Connection {
  return {
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
    answered: null,
    unread: null,
    idle: null,
  }
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

/** Records a request that was refused when its head was parsed. */
export function noteDropped(connection: Connection, length: number): Dropped {
  const dropped: Dropped = { complete: false, dropped: true }
  connection.requests += 1
  connection.last = dropped
  connection.bodyLeft = length
  return dropped
}

/** Forgets the latest request if it is complete. */
export function dropComplete(connection: Connection): void {
  if (connection.last?.complete) connection.last = null
}

/** The request whose body is still being received; null if there is none. */
export function findUnfinished({ last }: Connection): IncomingMessage | Dropped | null {
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

/** Forgets answers that were sent completely. */
export function dropAnswered({ socket, unanswered }: Connection): void {
  // The usual case, told without a look at answers that the processor no longer has in its caches. V8 sets a length slowly.
  if ((socket as NodeSocket)._httpMessage === null) while (unanswered.length > 0) unanswered.pop()
  while (unanswered[0] !== undefined && (unanswered[0].writableFinished || unanswered[0].destroyed)) unanswered.shift()
}
