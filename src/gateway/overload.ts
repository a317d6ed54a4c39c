// Load shedding of the HTTP server: an overloaded server refuses requests when their head has arrived, before it parses them.
import type { RequestListener } from 'node:http'
import type { MediagenError } from '@mediagen/core/errors.ts'
import { STATUS_CODES } from '@mediagen/net/http/node-http.ts'
import { alwaysSent } from '@mediagen/net/http/protection.ts'
import { findHeader, type TurnAway } from '@mediagen/net/http/turn-away.ts'
import { readRequestId } from '@mediagen/net/request-id.ts'
import { problemKinds } from './problem-kinds.ts'
import { problemType, toProblem } from './problem.ts'

// Operators need these most when the server is overloaded.
const spared: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])
const status = problemKinds.overloaded.http
const connectPaths = '/mediagen.v1.'

/** Decides which requests are refused, and with which answer. */
export interface Overload {
  /** Whether to refuse a request; called for each but those that are spared. A request that is to be refused is counted. */
  readonly refuses: () => boolean
  /** Called for each request that is answered in any case. */
  readonly spare: () => void
  /** Whether some requests are refused at present. */
  readonly isShedding: () => boolean
  readonly refusal: MediagenError
  /** The refusal in the form of the Connect protocol. */
  readonly connectBody: () => string
}

/** Asks `overload` about each request before `handle` sees it. */
export function shedRequests(handle: RequestListener, overload: Overload, publicUrl: () => string): RequestListener {
  return (request, response) => {
    const { url = '', headers } = request
    if (isSpared(url)) {
      overload.spare()
      return handle(request, response)
    }
    if (!overload.refuses()) return handle(request, response)
    const refusal = toRefusal(overload, url, headers['x-request-id'], publicUrl())
    response.writeHead(status, refusal.headers)
    response.end(refusal.body)
  }
}

/** The same for plain requests, before Node makes objects of them. */
export function turnAwayRequests(overload: Overload, publicUrl: () => string): TurnAway {
  return {
    isShedding: overload.isShedding,
    refuse(url, received) {
      // Node makes a request of one that is spared, and shedRequests notes it.
      if (isSpared(url) || !overload.refuses()) return null
      const { headers, body } = toRefusal(overload, url, findHeader(received, 'x-request-id'), publicUrl())
      let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${alwaysSent}`
      for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`
      return `${head}\r\n${body}`
    },
  }
}

function isSpared(url: string): boolean {
  return spared.has(url.split('?', 1)[0] ?? '')
}

function toRefusal(
  { refusal, connectBody }: Overload,
  url: string,
  sentId: string | string[] | undefined,
  publicUrl: string,
): { headers: string[]; body: string } {
  const requestId = readRequestId(sentId)
  const isConnect = url.startsWith(connectPaths)
  const body = isConnect ? connectBody() : JSON.stringify(toProblem(refusal, requestId, publicUrl))
  const headers = [
    'content-type',
    isConnect ? 'application/json' : problemType,
    'content-length',
    String(Buffer.byteLength(body)),
    'retry-after',
    String(refusal.details.retryAfterSeconds),
    'x-request-id',
    requestId,
  ]
  return { headers, body }
}
