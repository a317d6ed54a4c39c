// Load over HTTP, by autocannon: bounded in time and in connections, and every answer must be the expected one.
import autocannon from 'autocannon'
import { whileAwake } from './awake.ts'

/** How many ask at once. */
export const connections = 64

/** One request, asked again and again. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Makes the Idempotency-Key of each request. */
  readonly idempotencyKey?: () => string
}

/**
 * Asks for `seconds`, or so many times where `amount` is given; answers with how many answers came.
 * @throws Error when any answer was not 2xx or did not come
 */
export async function fireHttp(url: string, request: HttpRequest, seconds: number, amount?: number): Promise<number> {
  const { method, path, headers = {}, body, idempotencyKey } = request
  const result = await whileAwake(() =>
    autocannon({
      url: url + path,
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(idempotencyKey && {
        requests: [
          {
            setupRequest: (one) => ({ ...one, headers: { ...one.headers, 'idempotency-key': idempotencyKey() } }),
          },
        ],
      }),
      connections,
      duration: seconds,
      ...(amount !== undefined && { amount }),
    }),
  )
  const failed = result.errors + result.non2xx
  if (failed > 0) throw new Error(`${failed} of ${result.requests.total} requests to ${path} failed`)
  return result.requests.total
}
