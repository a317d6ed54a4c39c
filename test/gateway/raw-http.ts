// HTTP as it is written, over a bare socket: fetch tidies paths and headers that a stranger may send as they please.
import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A request; every part is sent as it stands, in UTF-8 where it is no buffer. */
export interface RawRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** An answer, its body parsed when it is JSON. */
export interface RawAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // Tests look into answers at will.
  readonly body: any
}

/** Sends one request on a connection of its own. */
export async function sendRaw(url: string, request: RawRequest): Promise<RawAnswer> {
  return parseAnswer(
    await exchange(url, toRequest({ ...request, headers: { connection: 'close', ...request.headers } })),
  )
}

/** Writes bytes and reads until the server closes the connection. */
export function exchange(url: string, bytes: Buffer): Promise<Buffer> {
  const { hostname, port } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  const socket = connect(Number(port), hostname, () => socket.write(bytes))
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('end', () => resolve(Buffer.concat(chunks)))
  socket.on('error', reject)
  return promise
}

/** Takes an answer apart that is not chunked. */
export function parseAnswer(bytes: Buffer): RawAnswer {
  const [head = '', ...rest] = bytes.toString('utf8').split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = new Headers(
    lines.map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const text = rest.join('\r\n\r\n')
  const isJson = text !== '' && (headers.get('content-type') ?? '').includes('json')
  return { status: Number(statusLine.split(' ')[1]), headers, text, body: isJson ? JSON.parse(text) : null }
}

/** A connection on which anything may be written, at any time. */
export interface RawConnection extends Disposable {
  readonly socket: Socket
  write(bytes: string | Buffer): void
  /**
   * The next answer, in the order in which they come; each has a length.
   * @throws Error when the server hung up before
   */
  next(): Promise<RawAnswer>
  /** Resolves when the connection is closed, however. */
  readonly closed: Promise<void>
}

/** Opens a connection, from another address of this machine when `localAddress` names one. */
export async function openRaw(url: string, localAddress?: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), ...(localAddress !== undefined && { localAddress }) })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  // Whoever is cut off while it writes is reset.
  socket.on('error', () => {})
  await once(socket, 'connect')
  let chunks: Buffer[] = []
  let bytesHere = 0
  /** Of the next answer, once its head has told. */
  let bytesNeeded = 0
  const notifications = new EventEmitter()
  socket.on('data', (bytes: Buffer) => {
    chunks.push(bytes)
    bytesHere += bytes.length
    notifications.emit('bytes')
  })
  void closed.then(() => notifications.emit('bytes'))

  function take(): RawAnswer | null {
    if (bytesHere < bytesNeeded) return null
    const [only, ...others] = chunks
    const received = only && others.length === 0 ? only : Buffer.concat(chunks)
    chunks = [received]
    const head = received.indexOf('\r\n\r\n')
    if (head < 0) return null
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(received.subarray(0, head).toString('latin1'))?.[1] ?? 0)
    const end = head + 4 + length
    bytesNeeded = end
    if (received.length < end) return null
    const answer = parseAnswer(received.subarray(0, end))
    chunks = [received.subarray(end)]
    bytesHere -= end
    bytesNeeded = 0
    return answer
  }

  return {
    socket,
    write: (bytes) => void socket.write(bytes),
    async next() {
      for (;;) {
        const answer = take()
        if (answer) return answer
        if (socket.destroyed) throw new Error('the server hung up before it answered')
        await once(notifications, 'bytes')
      }
    },
    closed,
    [Symbol.dispose]: () => void socket.destroy(),
  }
}

/** A request as it is written. */
export function toRequest(request: RawRequest): Buffer {
  const { method = 'GET', path, headers = {}, body } = request
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const lines = Object.entries({ host: 'test', ...length, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), Buffer.from(body ?? '')])
}
