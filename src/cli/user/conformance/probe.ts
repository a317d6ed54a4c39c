// Requests to the server under test. A refusal is an answer like any other, and the form of each is checked.
import { setTimeout } from 'node:timers/promises'
import type { Job, Problem } from '@mediagen/client/client.ts'
import type { Login } from '../server.ts'

// For a start with wait=true, which may take about three minutes.
const answerMs = 240_000
// A server that is busy says when to come again.
const busyTries = 5
const longestPauseSeconds = 10

/** What a request has besides its path. */
export interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
  /** Null for none. */
  readonly key?: string | null
}

/** An answer. Nothing is certain about its body, the body of a refusal included. */
export interface Answer<Body> {
  readonly status: number
  readonly headers: Headers
  readonly body: Partial<Body> & { readonly code?: Problem['code']; readonly detail?: Problem['detail'] }
}

/** The answer in a few words. */
export function describe({ status, body }: Answer<Partial<Pick<Job, 'job_id' | 'status'>>>): string {
  const { code, detail, job_id: jobId } = body
  return [`HTTP ${status}`, code, detail, jobId && `${jobId} (${body.status})`].filter(Boolean).join(', ')
}

/** Sends requests with one key. */
export interface Probe {
  send<Body = object>(path: string, sent?: Sent): Promise<Answer<Body>>
  /** How many refusals came, and what is wrong with the form of some of them. */
  readonly refusals: { count: number; readonly wrong: string[] }
}

/** Creates a probe. */
export function createProbe({ url, key: usualKey }: Login): Probe {
  const refusals: Probe['refusals'] = { count: 0, wrong: [] }

  async function attempt<Body>(path: string, sent: Sent): Promise<Answer<Body>> {
    const { key = usualKey, body, headers, method = body ? 'POST' : 'GET' } = sent
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body ? JSON.stringify(body) : null,
      signal: AbortSignal.timeout(answerMs),
    })
    const text = await response.text()
    const answer = { status: response.status, headers: response.headers, body: parse(text) as Answer<Body>['body'] }
    if (!response.ok) {
      refusals.count += 1
      const wrong = findWrongForm(answer)
      if (wrong) refusals.wrong.push(`${method} ${path} answered ${describe(answer)}, ${wrong}`)
    }
    return answer
  }

  return {
    refusals,
    async send<Body>(path: string, sent: Sent = {}) {
      for (let tries = 1; ; tries += 1) {
        const answer = await attempt<Body>(path, sent)
        const { code } = answer.body
        if ((code !== 'rate_limited' && code !== 'overloaded') || tries === busyTries) return answer
        const seconds = Number(answer.headers.get('retry-after') ?? 1)
        await setTimeout(Math.min(seconds, longestPauseSeconds) * 1000)
      }
    },
  }
}

function parse(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Whoever looks for a field finds none.
  }
  return {}
}

/** What is wrong with a refusal, whose form is that of RFC 9457 with a code. */
function findWrongForm({ status, headers, body }: Answer<Problem>): string | null {
  const type = headers.get('content-type') ?? 'none'
  if (!type.startsWith('application/problem+json')) return `with the content type ${type}`
  const missing = (['type', 'title', 'detail', 'code'] as const).filter((name) => typeof body[name] !== 'string')
  if (missing.length > 0) return `without ${missing.join(', ')}`
  return body.status === status ? null : `with the status ${body.status} in its body`
}
