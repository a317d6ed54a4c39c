// A server whose jobs are handed media, and servers that hand it out, as well or as badly as a test says.
import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Overrides } from '../../../src/app/app.ts'
import { startTestApp, type TestApp } from '../../test-app.ts'

export const copyModel = 'test/copy/image-to-image'

/** A server with the model that hands on what it was handed. */
export interface MediaApp extends AsyncDisposable {
  readonly app: TestApp
  /** Runs a job to its end; its record. */
  run(input: object, model?: string): Promise<any>
  /** Runs a job that must fail and give all its credits back; its error. */
  refusal(input: object, model?: string): Promise<{ code: string; message: string; retryable: boolean }>
  /** The bytes of an output. */
  read(output: { url: string }): Promise<Buffer>
}

/** Starts a server; no private host is allowed unless a setting does. */
export async function startMediaApp(settings: Record<string, string> = {}, overrides?: Overrides): Promise<MediaApp> {
  const app = await startTestApp({ MEDIAGEN_CATALOG: join(import.meta.dirname, 'models.yaml'), ...settings }, overrides)
  const run: MediaApp['run'] = async (input, model = copyModel) => {
    const { status, body } = await app.generate(model, input)
    expect(status, JSON.stringify(body)).toBe(200)
    return body
  }
  return {
    app,
    run,
    async refusal(input, model) {
      // An account of its own, so that refusals can be looked at side by side.
      const account = await app.createAccount(100)
      const { body: job } = await app.generate(model ?? copyModel, input, { account })
      expect(job).toMatchObject({ status: 'failed', credits: 0, outputs: [], billing: { charged: 0 } })
      const { body: wallet } = await app.send('/v1/wallet', { key: account.key })
      expect(wallet).toEqual({ available: 100, held: 0 })
      return job.error
    },
    async read({ url }) {
      const answer = await fetch(url)
      expect(answer.status).toBe(200)
      return Buffer.from(await answer.arrayBuffer())
    },
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  }
}

/** A server that media are fetched from. */
export interface Host extends AsyncDisposable {
  readonly port: number
  /** `http://127.0.0.1:port` */
  readonly url: string
  /** Connections that were made to it. */
  readonly connections: number
  /** Connections that are open. */
  readonly open: number
}

/** Starts an HTTP server on every address of this machine. */
export function openHost(listener: RequestListener): Promise<Host> {
  return serve(createHttpServer(listener))
}

/** Starts a TCP server, which need not speak HTTP. */
export function openRawHost(onConnection: (socket: Socket) => void): Promise<Host> {
  const server = createServer((socket) => {
    onConnection(socket)
    // What is not read would hide that the other side has left.
    socket.resume()
  })
  return serve(server)
}

async function serve(server: Server): Promise<Host> {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => {}).once('close', () => sockets.delete(socket))
  })
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    get connections() {
      return connections
    },
    get open() {
      return sockets.size
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
