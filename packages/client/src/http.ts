// Requests to one server with one key: JSON both ways, and an error class for each way in which they fail.
import { Refused, Unreachable } from './errors.ts'
import type { Problem } from './records.ts'
import { fetchWithProgress, reportsProgress } from './upload-progress.ts'

/** Where requests go, and as whom. */
export interface Connection {
  /** Address of the server, such as `https://media.example`; empty for the page's own in a browser. */
  readonly url: string
  /** API key, `mgk_…`; empty for none, on a page of the server whose user has signed in. */
  readonly key: string
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
  /** Told every refusal, besides being thrown it: the place to notice that a key does not work any more. */
  readonly onRefused?: (refused: Refused) => void
}

/** What a request may carry. */
export interface RequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is, instead of `body`. */
  readonly content?: Blob
  /** Told 0 … 1 while `content` is sent, in a browser. */
  readonly onProgress?: ((fraction: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** Sends requests. */
export interface Http {
  /** The answer, its body unread. @throws Refused, Unreachable, or what `signal` was aborted with */
  open(path: string, options?: RequestOptions): Promise<Response>
  /** The answer as JSON. @throws as `open` does */
  json<Answer>(path: string, options?: RequestOptions): Promise<Answer>
}

// The server looks at the content of a file; of another type it takes none.
const mediaType = /^(image|video|audio)\/[\w.+-]+$/

/** Creates the requests of a connection. */
export function createHttp({
  url,
  key,
  fetch = globalThis.fetch.bind(globalThis),
  onRefused = () => {},
}: Connection): Http {
  const base = url.replace(/\/+$/, '')

  async function attempt<Answer>(reading: Promise<Answer>, signal: AbortSignal | undefined): Promise<Answer> {
    try {
      return await reading
    } catch (error) {
      signal?.throwIfAborted()
      throw new Unreachable(base, error)
    }
  }

  const [foreign] = /[^\u0021-\u007E]/u.exec(key) ?? []

  async function open(path: string, options: RequestOptions = {}): Promise<Response> {
    if (foreign !== undefined) throw refuseKey(foreign)
    const { method, headers, body, content, onProgress, signal } = options
    const sent = content ?? (body === undefined ? null : JSON.stringify(body))
    const init = {
      method: method ?? (sent === null ? 'GET' : 'POST'),
      headers: {
        ...(key !== '' && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(content && { 'content-type': mediaType.test(content.type) ? content.type : 'application/octet-stream' }),
        ...headers,
      },
    }
    const request =
      content && onProgress && reportsProgress
        ? fetchWithProgress(base + path, { ...init, body: content }, onProgress, signal)
        : fetch(base + path, { ...init, cache: 'no-store', body: sent, signal: signal ?? null })
    const response = await attempt(request, signal)
    if (response.ok) return response
    const refused = await readRefusal(response)
    onRefused(refused)
    throw refused
  }

  return {
    open,
    async json<Answer>(path: string, options: RequestOptions = {}) {
      return attempt((await open(path, options)).json() as Promise<Answer>, options.signal)
    },
  }
}

/** A key that no header can carry, for example a placeholder, is not sent; the server would refuse it with the same code. */
function refuseKey(foreign: string): Refused {
  const detail = `This is not an API key: it contains ${JSON.stringify(foreign)}, which no key does.`
  const problem = { type: 'about:blank', title: 'Invalid API key', status: 401, detail, code: 'invalid_api_key' }
  return new Refused({ ...problem, retryable: false, request_id: '' })
}

async function readRefusal(response: Response): Promise<Refused> {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const retryAfterSeconds = Number.isFinite(seconds) ? seconds : null
  const text = await response.text().catch(() => '')
  try {
    const problem = JSON.parse(text) as Problem
    if (typeof problem.code === 'string' && typeof problem.detail === 'string')
      return new Refused(problem, retryAfterSeconds)
  } catch {
    // A proxy answered, not mediagen.
  }
  const { status } = response
  const detail = `The answer was HTTP ${status}, and mediagen did not write it: is this the address of its server?`
  const problem = { type: 'about:blank', title: 'Unexpected answer', status, detail, code: 'unexpected_answer' }
  return new Refused({ ...problem, retryable: status >= 500 || status === 429, request_id: '' }, retryAfterSeconds)
}
