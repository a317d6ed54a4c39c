// The console's way to the server: requests of the client in packages/client, with the key of this session.
import type { Refused } from '@mediagen/client/errors.ts'
import { createHttp, type Http, type RequestOptions } from '@mediagen/client/http.ts'

export type CallOptions = Pick<RequestOptions, 'headers' | 'signal'>

export interface Api extends Http {
  get<Answer>(path: string, options?: CallOptions): Promise<Answer>
  post<Answer>(path: string, body?: unknown, options?: CallOptions): Promise<Answer>
  patch<Answer>(path: string, body: unknown, options?: CallOptions): Promise<Answer>
  remove(path: string, options?: CallOptions): Promise<void>
}

/** Creates the requests of a session; `onKeyRefused` is called for every 401. */
export function createApi(key: string, onKeyRefused: (refused: Refused) => void, send?: typeof fetch): Api {
  const http = createHttp({
    url: '',
    key,
    ...(send && { fetch: send }),
    onRefused(refused) {
      if (refused.problem.status === 401) onKeyRefused(refused)
    },
  })
  return {
    ...http,
    get: (path, options) => http.json(path, options),
    post: (path, body, options) => http.json(path, { method: 'POST', body, ...options }),
    patch: (path, body, options) => http.json(path, { method: 'PATCH', body, ...options }),
    async remove(path, options) {
      await http.open(path, { method: 'DELETE', ...options })
    },
  }
}

/** Whether an operation was aborted. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}
