// The door of a server that is behind: requests are refused when their head is there, before anything is made of them.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { MediagenError } from '../core/errors.ts'
import { readRequestId } from '@mediagen/net/request-id.ts'
import { problemKinds } from './problem-kinds.ts'
import { problemType, toProblem } from './problem.ts'

// Whoever runs the server must see it above all when it is behind.
const spared: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])
const connectPaths = '/mediagen.v1.'

/** Which requests are refused, and what they are told. */
export interface Overload {
  /** Asked once about each request: whether it is refused. */
  readonly refuses: () => boolean
  readonly refusal: MediagenError
  /** The refusal as Connect writes it. */
  readonly connectBody: string
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
  const body = isConnect ? connectBody : JSON.stringify(toProblem(refusal, requestId, publicUrl))
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
