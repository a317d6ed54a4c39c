// An S3-compatible store of files for tests, and a line to it that can be cut.
import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import type { Bucket } from '../../../src/files/blobs/s3-requests.ts'

/** The bucket of a test server, empty at first. */
export interface S3Server extends AsyncDisposable {
  readonly endpoint: string
  readonly bucket: Bucket
  /** Makes all objects so much older, in milliseconds. */
  age(ms: number): void
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
  keepFolders(server)
  const { port } = await server.run()
  const endpoint = `http://127.0.0.1:${port}`
  return {
    endpoint,
    bucket: toBucket(endpoint),
    age(ms) {
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        const path = join(folder, name)
        const then = new Date(statSync(path).mtimeMs - ms)
        utimesSync(path, then, then)
      }
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * With its last object s3rver removes a folder, even one that an object of another request is being written to, whose failure would
 * end the process of the tests.
 */
function keepFolders({ store }: S3rver): void {
  store.deleteObject = async (bucket, key) => {
    const files = ['object', 'object.md5', 'metadata.json'].map((kind) => store.getResourcePath(bucket, key, kind))
    await Promise.all(files.map((file) => rm(file, { force: true })))
  }
}

/** The bucket at an endpoint, with the credentials of the test server. */
export function toBucket(endpoint: string): Bucket {
  return { url: `${endpoint}/${bucketName}`, region: 'us-east-1', accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }
}

/** What happens to a request on the line. */
export type Fault =
  | 'answer 500'
  | 'slow down'
  | 'wait'
  | 'cut before'
  | 'cut after'
  | 'cut the answer'
  | 'stall'
  | 'refuse'
  /** Refused as a store does that says this code. */
  | { readonly code: string; readonly status: number }

/** A line to a server. `faults` are met by the next requests, one by each; null lets one pass. */
export interface Line extends AsyncDisposable {
  readonly endpoint: string
  readonly faults: (Fault | null)[]
  /** Once there are no more of them, what happens to each request. */
  weather: (method: string) => Fault | null
  /** How long a request waits that waits. */
  waitMs: number
  /** Methods of the requests that came, faults included. */
  readonly seen: string[]
}

/** Starts the line. Signatures cover the host, so requests pass with the one that they were signed for. */
export async function startLine(to: string): Promise<Line> {
  const faults: (Fault | null)[] = []
  const seen: string[] = []
  const server = createServer((incoming, outgoing) => {
    const { method = '' } = incoming
    seen.push(method)
    const fault = faults.length > 0 ? (faults.shift() ?? null) : line.weather(method)
    if (fault === 'wait') setTimeout(() => meet(null, incoming, outgoing, to), line.waitMs)
    else meet(fault, incoming, outgoing, to)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const line: Line = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    faults,
    seen,
    weather: () => null,
    waitMs: 2000,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return line
}

const refusals: Readonly<Record<string, { status: number; code: string }>> = {
  refuse: { status: 403, code: 'AccessDenied' },
  'answer 500': { status: 500, code: 'InternalError' },
  'slow down': { status: 503, code: 'SlowDown' },
}

function meet(fault: Fault | null, incoming: IncomingMessage, outgoing: ServerResponse, to: string): void {
  const cut = (): void => void incoming.socket.destroy()
  if (fault === 'stall') return
  if (fault === 'cut before') return cut()
  const refusal = typeof fault === 'string' ? refusals[fault] : fault
  if (refusal) {
    incoming.resume()
    const { status, code } = refusal
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
  passed.on('error', cut)
  incoming.pipe(passed)
}

/** Starts a store that answers everything with this body. */
export async function startAnswering(
  body: string,
): Promise<AsyncDisposable & { readonly endpoint: string; readonly asked: readonly string[] }> {
  const asked: string[] = []
  const server = createServer((request, answer) => {
    asked.push(request.url ?? '')
    request.resume()
    answer.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
