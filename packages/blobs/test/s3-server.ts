// An S3-compatible store of files for tests, and a line to it that can be cut.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import type { Bucket } from '../src/s3-requests.ts'

/** The bucket of a test server, empty at first. */
export interface S3Server extends AsyncDisposable {
  readonly endpoint: string
  readonly bucket: Bucket
}

export const bucketName = 'media'

/** Starts a server on the loopback, with a bucket. */
export async function startS3(): Promise<S3Server> {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-s3-'))
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory: folder,
    configureBuckets: [{ name: bucketName, configs: [] }],
  })
  const { port } = await server.run()
  const endpoint = `http://127.0.0.1:${port}`
  return {
    endpoint,
    bucket: toBucket(endpoint),
    async [Symbol.asyncDispose]() {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The bucket at an endpoint, with the credentials of the test server. */
export function toBucket(endpoint: string): Bucket {
  return { url: `${endpoint}/${bucketName}`, region: 'us-east-1', accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }
}

/** What happens to a request on the line. */
export type Fault = 'answer 500' | 'cut before' | 'cut after' | 'cut the answer' | 'stall' | 'refuse'

/** A line to a server. `faults` are met by the next requests, one by each; null lets one pass. */
export interface Line extends AsyncDisposable {
  readonly endpoint: string
  readonly faults: (Fault | null)[]
  /** Methods of the requests that came, faults included. */
  readonly seen: string[]
}

/** Starts the line. Signatures cover the host, so requests pass with the one that they were signed for. */
export async function startLine(to: string): Promise<Line> {
  const faults: (Fault | null)[] = []
  const seen: string[] = []
  const server = createServer((incoming, outgoing) => {
    seen.push(incoming.method ?? '')
    meet(faults.shift() ?? null, incoming, outgoing, to)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    faults,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function meet(fault: Fault | null, incoming: IncomingMessage, outgoing: ServerResponse, to: string): void {
  const cut = (): void => void incoming.socket.destroy()
  if (fault === 'stall') return
  if (fault === 'cut before') return cut()
  if (fault === 'answer 500' || fault === 'refuse') {
    incoming.resume()
    const [status, code] = fault === 'refuse' ? [403, 'AccessDenied'] : [500, 'InternalError']
    outgoing.writeHead(status).end(`<Error><Code>${code}</Code><Message>By the test</Message></Error>`)
    return
  }
  const { method, url, headers } = incoming
  const passed = request(`${to}${url}`, { method, headers }, (answer) => {
    if (fault === 'cut after') {
      answer.resume().once('end', cut)
      return
    }
    outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
    if (fault === null) {
      answer.pipe(outgoing)
      return
    }
    // Half of the answer arrives.
    answer.once('data', (chunk: Buffer) => outgoing.write(chunk.subarray(0, Math.ceil(chunk.length / 2)), cut))
  })
  incoming.pipe(passed)
}
