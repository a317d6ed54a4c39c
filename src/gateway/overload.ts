// Load shedding of the HTTP server: an overloaded server refuses requests when their head has arrived, before their body.
import type { RequestListener } from 'node:http'
import type { MediagenError } from '../core/errors.ts'
import { readRequestId } from '../guards/request-id.ts'
import { isOpenaiPath } from './openai-paths.ts'
import { problemKinds } from './problems/problem-kinds.ts'
import { problemType, toProblem } from './problems/problem.ts'

// Operators need these most when the server is overloaded.
const exemptPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])
const status = problemKinds.overloaded.http
const connectPaths = '/mediagen.v1.'

/** Decides which requests are refused, and with which answer. */
export interface Overload {
  /** Whether to refuse a request; called for each request that may be refused. Counts a refusal. */
  readonly refuses: () => boolean
  /** Called for each request that is never refused. */
  readonly noteExempt: () => void
  readonly refusal: MediagenError
  /** The refusal in the form of the Connect protocol. */
  readonly connectBody: () => string
}

/** Asks `overload` about each request before `handle` sees it. */
export function shedRequests(handle: RequestListener, overload: Overload, publicUrl: () => string): RequestListener {
  const toRefusal = createRefusals(overload, publicUrl)
  return (request, response) => {
    const { url = '', headers } = request
    if (isExempt(url)) {
      overload.noteExempt()
      return handle(request, response)
    }
    if (!overload.refuses()) return handle(request, response)
    const { type, requestId, body } = toRefusal(url, headers['x-request-id'])
    if (isOpenaiPath(url)) response.statusMessage = overload.refusal.code
    response.writeHead(status, {
      'content-type': type,
      'content-length': Buffer.byteLength(body),
      'retry-after': toRetryAfter(overload),
      'x-request-id': requestId,
    })
    response.end(body)
  }
}

function isExempt(url: string): boolean {
  return exemptPaths.has(url.split('?', 1)[0] ?? '')
}

function toRetryAfter({ refusal }: Overload): string {
  return String(refusal.details.retryAfterSeconds)
}

/** What differs between refusals. */
interface Refusal {
  readonly type: string
  readonly requestId: string
  readonly body: string
}

/** Makes refusals. A problem is serialized once and each request's id put into it: refusing must be cheap. */
function createRefusals(
  { refusal, connectBody }: Overload,
  publicUrl: () => string,
): (url: string, sentId: string | string[] | undefined) => Refusal {
  const idMember = '"request_id":"'
  let around: readonly string[] | null = null
  return (url, sentId) => {
    const requestId = readRequestId(sentId)
    if (url.startsWith(connectPaths)) return { type: 'application/json', requestId, body: connectBody() }
    around ??= JSON.stringify(toProblem(refusal, '', publicUrl())).split(idMember)
    return { type: problemType, requestId, body: `${around[0]}${idMember}${requestId}${around[1]}` }
  }
}
