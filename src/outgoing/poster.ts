// One POST to one endpoint: bounded in time and size, never redirected, with a readable error.
import { toFailure } from './failure.ts'
import { PrivateAddressError } from './hosts.ts'
import { RefusedPortError } from './ports.ts'
import { createPublicClient, type PublicClientOptions } from './public-client.ts'
import { readRetryAfter } from './retry-after.ts'

export interface PostRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Aborts the POST. */
  readonly signal: AbortSignal
}

/** The result; `error` is null only for 2xx. */
export interface PostResult {
  /** HTTP status; null when there was no answer. */
  readonly responseStatus: number | null
  readonly error: string | null
  /** The wait that the endpoint requested (Retry-After), in milliseconds; null if it requested none. */
  readonly waitMs: number | null
}

export interface Poster {
  /** Never rejects. */
  post(request: PostRequest): Promise<PostResult>
  /** Closes every connection. */
  close(): Promise<void>
}

export interface PosterOptions extends PublicClientOptions {
  /** The body of an answer is ignored; this much of it is read so that the connection can be reused. */
  readonly maxAnswerBytes: number
}

export function createPoster(options: PosterOptions): Poster {
  const client = createPublicClient(options)
  const { timeoutMs, maxAnswerBytes } = options
  return {
    async post({ url, headers, body, signal }) {
      const attempt = new AbortController()
      const breakOff = (): void => attempt.abort()
      const timer = setTimeout(breakOff, timeoutMs)
      signal.addEventListener('abort', breakOff)
      if (signal.aborted) breakOff()
      try {
        const answer = await client.request(url, { method: 'POST', headers, body, signal: attempt.signal })
        await answer.body.dump({ limit: maxAnswerBytes, signal: attempt.signal }).catch(() => undefined)
        const { statusCode } = answer
        return {
          responseStatus: statusCode,
          error: describeStatus(statusCode),
          waitMs: readRetryAfter(answer.headers),
        }
      } catch (error) {
        const timedOut = attempt.signal.aborted && !signal.aborted
        return {
          responseStatus: null,
          error: timedOut ? describeTimeout(timeoutMs) : describeFailure(error, new URL(url).hostname, timeoutMs),
          waitMs: null,
        }
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', breakOff)
      }
    },
    close: () => client.destroy(),
  }
}

function describeStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null
  return `The endpoint answered ${status}${status >= 300 && status < 400 ? '; redirects are not followed' : ''}.`
}

function describeTimeout(timeoutMs: number): string {
  return `The endpoint did not answer within ${timeoutMs / 1000} s.`
}

function describeFailure(error: unknown, host: string, timeoutMs: number): string {
  if (error instanceof PrivateAddressError)
    return `The address was refused: "${host}" does not lead to a public address, and this server sends webhooks to no other (MEDIAGEN_WEBHOOK_ALLOW_PRIVATE).`
  if (error instanceof RefusedPortError) return `The address was refused: ${error.message}.`
  const { kind, words } = toFailure(error)
  return kind === 'timeout' ? describeTimeout(timeoutMs) : `${words.charAt(0).toUpperCase()}${words.slice(1)}.`
}
