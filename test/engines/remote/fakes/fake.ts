// A stateful fake of a provider: what it was asked and what it was paid for, over real HTTP or in memory, with faults.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { NoAnswer, type UpstreamAnswer, type UpstreamClient } from '../../../../src/outgoing/upstream-client.ts'
import { acceptSocket, type FakeSocket } from './socket.ts'

export interface FakeRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
  readonly json: unknown
  /** Where the fake is, for the URLs that it gives. */
  readonly origin: string
}

export interface FakeAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly body?: Buffer | string
}

/** What goes wrong with one request. */
export type Fault =
  /** Nobody hears the request. */
  | 'cut before'
  /** The request is handled, and its answer lost. */
  | 'cut after'
  /** It is handled, and half of the answer's body arrives. */
  | 'truncate'
  /** It is handled twice, as if a proxy had repeated it. */
  | 'twice'
  /** It is handled, and a proxy answers 502. */
  | 'bad gateway'
  /** The answer comes in small parts. */
  | 'slow'
  /** It is handled, and its answer never ends. */
  | 'endless'
  /** It is not handled, and the answer has no end; `hang` has no beginning. */
  | 'flood'
  | 'hang'
  /** It is not handled. */
  | FakeAnswer

export interface FakeUpstream {
  answer(request: FakeRequest): FakeAnswer | Promise<FakeAnswer>
  /** Takes a WebSocket. */
  socket?(request: FakeRequest, socket: FakeSocket): void
}

/** Decides about each request; the second parameter counts the requests that the pattern of `METHOD /path` has matched. */
export type Faults = (request: FakeRequest) => Fault | null

/** Faults for the first requests that match, in order; `null` lets one pass. */
export function failing(pattern: RegExp, ...faults: (Fault | null)[]): Faults {
  return ({ method, path }) => (pattern.test(`${method} ${path}`) ? (faults.shift() ?? null) : null)
}

export const html: FakeAnswer = {
  status: 200,
  headers: { 'content-type': 'text/html' },
  body: '<!doctype html><title>Sign in</title>',
}

const badGateway: FakeAnswer = { status: 502, body: 'bad gateway' }

export const tinyPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** A served fake. */
export interface ServedFake extends AsyncDisposable {
  readonly origin: string
  /** `METHOD /path` of everything that arrived, in order. */
  requests(): readonly string[]
  readonly log: readonly FakeRequest[]
  /** May be replaced at any time. */
  faults: Faults
}

/** Serves a fake on 127.0.0.1. */
export async function serveFake(fake: FakeUpstream, faults: Faults = () => null): Promise<ServedFake> {
  const log: FakeRequest[] = []
  let origin = ''
  const served = { faults }
  const server = createServer((incoming, response) => {
    void readRequest(incoming, origin).then((request) => {
      log.push(request)
      return respond(fake, request, served.faults(request), incoming, response)
    })
  })
  const wires = new Set<Duplex>()
  server.on('upgrade', (incoming, wire) => {
    wires.add(wire)
    wire.on('error', () => {}).on('close', () => wires.delete(wire))
    const request = toRequest('GET', new URL(incoming.url ?? '/', origin), toFlat(incoming), Buffer.alloc(0))
    log.push(request)
    const fault = served.faults(request)
    if (fault === 'cut before') return void wire.destroy()
    if (fault === null && fake.socket) return fake.socket(request, acceptSocket(incoming, wire))
    const { status, headers = {} } = typeof fault === 'object' && fault !== null ? fault : { status: 404 }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    wire.end(`HTTP/1.1 ${status} Answer\r\n${lines.join('')}content-length: 0\r\n\r\n`)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(served, {
    origin,
    log,
    requests: () => log.map(({ method, path }) => `${method} ${path}`),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      for (const wire of wires) wire.destroy()
      await new Promise((done) => server.close(done))
    },
  })
}

async function readRequest(incoming: IncomingMessage, origin: string): Promise<FakeRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
  return toRequest(
    incoming.method ?? 'GET',
    new URL(incoming.url ?? '/', origin),
    toFlat(incoming),
    Buffer.concat(chunks),
  )
}

function toFlat({ headers }: IncomingMessage): FakeRequest['headers'] {
  return headers as Record<string, string>
}

function toRequest(method: string, url: URL, headers: FakeRequest['headers'], body: Buffer): FakeRequest {
  let json: unknown = null
  try {
    json = JSON.parse(body.toString('utf8'))
  } catch {
    // It has no JSON body.
  }
  return { method, path: url.pathname, query: url.searchParams, headers, body, json, origin: url.origin }
}

async function respond(
  fake: FakeUpstream,
  request: FakeRequest,
  fault: Fault | null,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (fault === 'cut before') return void incoming.socket.destroy()
  if (fault === 'hang') return
  if (fault === 'flood') return flood(response)
  const answer = typeof fault === 'object' && fault !== null ? fault : await attempt(fake, request)
  if (fault === 'twice') await fake.answer(request)
  if (fault === 'cut after') return void incoming.socket.destroy()
  const { status, headers, bytes } = toWire(fault === 'bad gateway' ? badGateway : answer)
  response.writeHead(status, { ...headers, 'content-length': bytes.length })
  if (fault === 'endless') return void response.write(bytes.subarray(0, bytes.length / 2))
  if (fault === 'truncate') {
    response.write(bytes.subarray(0, bytes.length / 2), () => incoming.socket.destroy())
    return
  }
  if (fault === 'slow')
    for (let at = 0; at < bytes.length; at += 64) {
      response.write(bytes.subarray(at, at + 64))
      await new Promise((done) => setImmediate(done))
    }
  else response.write(bytes)
  response.end()
}

/** Ten gigabytes, or as much as is taken. */
async function flood(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' })
  const piece = Buffer.alloc(1_000_000, ' ')
  for (let pieces = 0; pieces < 10_000 && !response.destroyed; pieces++)
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')])
  response.end()
}

/** A fake that is wrong itself fails the test by its answer. */
async function attempt(fake: FakeUpstream, request: FakeRequest): Promise<FakeAnswer> {
  try {
    return await fake.answer(request)
  } catch (error) {
    return { status: 418, body: String(error) }
  }
}

function toWire({ status, headers = {}, json, body }: FakeAnswer): {
  status: number
  headers: Record<string, string>
  bytes: Buffer
} {
  const bytes = json === undefined ? Buffer.from(body ?? '') : Buffer.from(JSON.stringify(json))
  return { status, bytes, headers: { ...(json !== undefined && { 'content-type': 'application/json' }), ...headers } }
}

/** A client that reaches a fake without a network. */
export function createFakeClient(fake: FakeUpstream, origin: string, faults: Faults): UpstreamClient {
  return {
    async request({ method, url, headers = {}, body = '' }): Promise<UpstreamAnswer> {
      const request = toRequest(method, new URL(url), headers, Buffer.from(body as string))
      const fault = faults({ ...request, origin })
      if (fault === 'cut before' || fault === 'flood' || fault === 'hang')
        throw new NoAnswer('the connection was cut', true)
      const answer = typeof fault === 'object' && fault !== null ? fault : await fake.answer({ ...request, origin })
      if (fault === 'twice') await fake.answer({ ...request, origin })
      if (fault === 'cut after' || fault === 'truncate' || fault === 'endless')
        throw new NoAnswer('the connection was cut', true)
      const { status, headers: sent, bytes } = toWire(fault === 'bad gateway' ? badGateway : answer)
      return { status, headers: sent, body: bytes }
    },
    listen: () => ({ isClosed: true, close: () => {} }),
    close: async () => {},
  }
}
