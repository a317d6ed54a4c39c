// Load shedding of the HTTP server: an overloaded server refuses requests when their head has arrived, before it parses them.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { MediagenError } from '@mediagen/core/errors.ts'
import { readRequestId } from '@mediagen/net/request-id.ts'
import { problemKinds } from './problem-kinds.ts'
import { problemType, toProblem } from './problem.ts'

// Operators need these most when the server is overloaded.
const spared: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])
const connectPaths = '/mediagen.v1.'

/** Decides which requests are refused, and with which answer. */
export interface Overload {
  /** Whether to refuse a request; called once for each. */
  readonly refuses: () => boolean
  readonly refusal: MediagenError
  /** The refusal in the form of the Connect protocol. */
  readonly connectBody: () => string
}

/** Asks `overload` about each request before `handle` sees it. */
export function shedRequests(handle: RequestListener, overload: Overload, publicUrl: () => string): RequestListener {
  return (request, response) => {
    if (!overload.refuses() || isSpared(request)) handle(request, response)
    else refuse(request, response, overload, publicUrl())
  }
}

function isSpared({ url = '' }: IncomingMessage): boolean {
  return spared.has(url.split('?', 1)[0] ?? '')
}

/** Costs a quarter of a quote, most of it in Node and in the system. */
function refuse(request: IncomingMessage, response: ServerResponse, overload: Overload, publicUrl: string): void {
  const { refusal, connectBody } = overload
  const requestId = readRequestId(request.headers['x-request-id'])
  const isConnect = request.url?.startsWith(connectPaths)
  const body = isConnect ? connectBody() : JSON.stringify(toProblem(refusal, requestId, publicUrl))
  response.writeHead(problemKinds[refusal.code].http, [
    'content-type',
    isConnect ? 'application/json' : problemType,
    'content-length',
    String(Buffer.byteLength(body)),
    'retry-after',
    String(refusal.details.retryAfterSeconds),
    'x-request-id',
    requestId,
  ])
  response.end(body)
}
