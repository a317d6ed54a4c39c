// The console's REST client: one key, JSON both ways, and two kinds of failure.
import type { FileRecord, ProblemRecord } from './records.ts'
import { sendFile, type UploadOptions } from './upload.ts'

/** The server refused the request. */
export class Refusal extends Error {
  readonly problem: ProblemRecord
  readonly retryAfterSeconds: number | null

  constructor(problem: ProblemRecord, retryAfterSeconds: number | null = null) {
    super(problem.detail)
    this.name = 'Refusal'
    this.problem = problem
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** No answer arrived; the request may or may not have arrived. */
export class Unreachable extends Error {
  constructor(cause: unknown) {
    super('The server cannot be reached. Check the connection and try again.', { cause })
    this.name = 'Unreachable'
  }
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface Api {
  readonly key: string
  get<Answer>(path: string, options?: CallOptions): Promise<Answer>
  post<Answer>(path: string, body?: unknown, options?: CallOptions): Promise<Answer>
  remove(path: string, options?: CallOptions): Promise<void>
  /** Uploads a file for inputs. */
  upload(file: Blob, options: UploadOptions): Promise<FileRecord>
  /** The answer, with its body unread. */
  open(path: string, options?: CallOptions): Promise<Response>
}

/** Creates a client; `onKeyRefused` is called for every 401. */
export function createApi(
  key: string,
  onKeyRefused: (refusal: Refusal) => void,
  send: typeof fetch = fetch.bind(globalThis),
): Api {
  function call(method: string, path: string, body: unknown, options: CallOptions): Promise<Response> {
    const answer = send(path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...options.headers,
      },
      cache: 'no-store',
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(options.signal && { signal: options.signal }),
    })
    return check(answer, options.signal)
  }

  /** Returns the answer if it is successful. */
  async function check(answer: Promise<Response>, signal: AbortSignal | undefined): Promise<Response> {
    const response = await answer.catch((error: unknown) => {
      if (signal?.aborted) throw error
      throw new Unreachable(error)
    })
    if (response.ok) return response
    const refusal = await readRefusal(response)
    if (response.status === 401) onKeyRefused(refusal)
    throw refusal
  }

  async function readJson<Answer>(response: Response, signal: AbortSignal | undefined): Promise<Answer> {
    try {
      return (await response.json()) as Answer
    } catch (error) {
      if (signal?.aborted) throw error
      throw new Unreachable(error)
    }
  }

  return {
    key,
    async get(path, options = {}) {
      return readJson(await call('GET', path, undefined, options), options.signal)
    },
    async post(path, body, options = {}) {
      return readJson(await call('POST', path, body, options), options.signal)
    },
    async remove(path, options = {}) {
      await call('DELETE', path, undefined, options)
    },
    async upload(file, options) {
      return readJson(await check(sendFile('/v1/files', key, file, options), options.signal), options.signal)
    },
    open: (path, options = {}) => call('GET', path, undefined, options),
  }
}

async function readRefusal(response: Response): Promise<Refusal> {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  const retryAfterSeconds = Number.isFinite(retryAfter) ? retryAfter : null
  const text = await response.text().catch(() => '')
  try {
    const problem = JSON.parse(text) as ProblemRecord
    if (typeof problem.code === 'string' && typeof problem.detail === 'string')
      return new Refusal(problem, retryAfterSeconds)
  } catch {
    // The answer came from a proxy, not from mediagen.
  }
  const detail = `HTTP ${response.status} ${response.statusText}: this answer did not come from mediagen itself.`
  const retryable = response.status >= 500
  return new Refusal(
    {
      type: '',
      title: 'Unexpected answer',
      status: response.status,
      detail,
      code: 'unexpected_answer',
      retryable,
      request_id: '',
    },
    retryAfterSeconds,
  )
}

/** Whether an operation was aborted. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}
