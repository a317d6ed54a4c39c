// HTTP as it is written, over a bare socket: fetch tidies paths and headers that a stranger may send as they please.
import { connect } from 'node:net'

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
  const { method = 'GET', path, headers = {}, body } = request
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const lines = Object.entries({ host: 'test', connection: 'close', ...length, ...headers })
  const head = `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  return parseAnswer(await exchange(url, Buffer.concat([Buffer.from(head), Buffer.from(body ?? '')])))
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
