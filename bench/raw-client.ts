// A light HTTP client for thousands of connections that wait: a socket each, one request at a time on it.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** An answer. */
export interface RawAnswer {
  readonly status: number
  readonly body: string
  /** Milliseconds since 1970. */
  readonly arrivedAtMs: number
}

/** A connection that stays open between requests. */
export interface RawConnection {
  ask(request: string): Promise<RawAnswer>
  close(): void
}

/** Connects. @throws Error of the socket */
export async function connectRaw(port: number): Promise<RawConnection> {
  const socket = connect({ host: '127.0.0.1', port })
  await once(socket, 'connect')
  return toConnection(socket)
}

/** Writes a request; `body` is JSON. */
export function toRequest(method: string, path: string, headers: Readonly<Record<string, string>>, body = ''): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = body === '' ? '' : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
  return `${method} ${path} HTTP/1.1\r\nhost: bench\r\n${lines.join('')}${length}\r\n${body}`
}

function toConnection(socket: Socket): RawConnection {
  let received = ''
  let waiting: PromiseWithResolvers<RawAnswer> | null = null
  const fail = (why: string): void => waiting?.reject(new Error(why))
  socket.setEncoding('latin1')
  socket.on('error', (error) => fail(error.message))
  socket.on('close', () => fail('the server hung up'))
  socket.on('data', (text: string) => {
    received += text
    const answer = readAnswer(received)
    if (!answer) return
    received = ''
    waiting?.resolve(answer)
    waiting = null
  })
  return {
    ask(request) {
      waiting = Promise.withResolvers()
      socket.write(request)
      return waiting.promise
    },
    close: () => socket.destroy(),
  }
}

/** Null when there is more to come; every answer here has a length. */
function readAnswer(text: string): RawAnswer | null {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return null
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text.slice(0, end))?.[1])
  if (Number.isNaN(length)) throw new Error(`an answer without a length: ${text.slice(0, 200)}`)
  if (text.length < end + 4 + length) return null
  return { status: Number(text.slice(9, 12)), body: text.slice(end + 4), arrivedAtMs: Date.now() }
}
