// Refuses requests as soon as their heads are parsed, before Node makes objects for request, answer and body: a refusal must cost a
// small part of an answer, or refusing takes the whole processor while clients send several times what the server can answer.
import { type Connection, type Dropped, isIdle, noteDropped } from './connection.ts'

/** Decides which requests are refused. */
export interface TurnAway {
  /** Whether some requests are refused at present. */
  readonly isShedding: () => boolean
  /** The whole answer to a request if it is refused, or null. `headers` are names and values in turn. */
  readonly refuse: (url: string, headers: readonly string[]) => string | null
}

/** The arguments of the parser's callback for a complete head; `headers` and `url` only if they came in one piece. */
type Head = readonly [
  major: number,
  minor: number,
  headers: readonly string[] | undefined,
  method: number,
  url: string | undefined,
  status: unknown,
  statusText: unknown,
  upgrade: boolean,
  keepAlive: boolean,
]

// Node's parser has its callbacks under these numbers: kOnHeadersComplete, kOnBody, kOnMessageComplete.
const [onHead, onBody, onEnd] = [2, 3, 4] as const
/** The number of the method HEAD. */
const methodHead = 2

/** Node's parser, which Node does not declare. */
interface Parser {
  [onHead]: (this: Parser, ...head: Head) => number
  [onBody]: unknown
  [onEnd]: unknown
}

/** Parses bytes, refuses what `turnAway` says, and drops the bodies of what was refused. */
export function parseShedding(connection: Connection, bytes: Buffer, turnAway: TurnAway): void {
  const { parser } = connection.socket as { readonly parser?: Parser | null }
  if (parser?.[onHead].name !== 'parserOnHeadersComplete') return connection.parse(bytes)
  const { [onHead]: head, [onBody]: body, [onEnd]: end } = parser

  const takeBodies = (): void => {
    parser[onBody] = body
    parser[onEnd] = end
  }
  const drop = (message: Dropped): void => {
    parser[onBody] = null
    parser[onEnd] = () => {
      message.complete = true
      takeBodies()
    }
  }
  parser[onHead] = (...received) => {
    const [, , headers, , url] = received
    if (headers && url !== undefined && canDrop(connection, received)) {
      const answer = turnAway.refuse(url, headers)
      if (answer !== null) {
        drop(noteDropped(connection, Number(findHeader(headers, 'content-length') ?? 0)))
        connection.socket.write(answer)
        return 0
      }
    }
    return head.apply(parser, received)
  }
  const { last } = connection
  if (last && 'dropped' in last && !last.complete) drop(last)
  try {
    connection.parse(bytes)
  } finally {
    parser[onHead] = head
    takeBodies()
  }
}

/** Whether Node would do nothing for this request but read it. Everything else is refused through Node. */
function canDrop(connection: Connection, head: Head): boolean {
  const [major, minor, headers = [], method, , , , upgrade, keepAlive] = head
  const isPlain = major === 1 && minor === 1 && method !== methodHead && !upgrade && keepAlive
  // Node sets the time limit of an idle connection after its first answer.
  const isFree = connection.requests > 0 && connection.socket.writableLength === 0
  return isPlain && isFree && isIdle(connection) && !unplain.some((name) => findHeader(headers, name) !== undefined)
}

// Trailers of chunked bodies, and clients that wait before they send the body.
const unplain = ['transfer-encoding', 'expect']

/** The value of a header in a list of names and values. */
export function findHeader(headers: readonly string[], name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    const found = headers[i] as string
    if (found.length === name.length && found.toLowerCase() === name) return headers[i + 1]
  }
  return undefined
}
