// Requests to the server under test, and how a check of it ends.
import { Refused } from '@mediagen/client/client.ts'
import { repeat } from '@mediagen/client/follow.ts'
import { createHttp, type RequestOptions } from '@mediagen/client/http.ts'
import type { Login } from '../server.ts'

/** Thrown where a check cannot be made. */
export class Skipped extends Error {}

/** Thrown where an invariant does not hold. */
export class Violated extends Error {}

/** @throws Violated */
export function expect(holds: boolean, expected: string, seen: unknown): asserts holds {
  if (!holds)
    throw new Violated(`expected ${expected}, but saw ${typeof seen === 'string' ? seen : JSON.stringify(seen)}`)
}

/** An answer; `body` is null for a refusal, and `words` say what it is. */
export interface Answer<Body> {
  readonly status: number
  readonly body: Body | null
  readonly words: string
}

/** Requests with one key. What a busy server refuses is repeated. */
export interface Probe {
  send<Body>(path: string, options?: RequestOptions): Promise<Answer<Body>>
  /** @throws Violated if it is refused */
  get<Body>(path: string, options?: RequestOptions): Promise<Body>
  readonly refusals: readonly Refused[]
}

/** Creates a probe. */
export function createProbe(login: Login): Probe {
  const http = createHttp(login)
  const refusals: Refused[] = []
  async function send<Body>(path: string, options?: RequestOptions): Promise<Answer<Body>> {
    try {
      const answer = await repeat(() => http.open(path, options), undefined)
      return { status: answer.status, body: (await answer.json()) as Body, words: `HTTP ${answer.status}` }
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      refusals.push(error)
      const { status } = error.problem
      return { status, body: null, words: `HTTP ${status} ${error.code}: ${error.message}` }
    }
  }
  return {
    send,
    refusals,
    async get<Body>(path: string, options?: RequestOptions) {
      const { body, words } = await send<Body>(path, options)
      expect(body !== null, `an answer of ${path}`, words)
      return body
    },
  }
}
