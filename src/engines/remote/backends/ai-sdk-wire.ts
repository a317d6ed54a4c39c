// The `fetch` that packages of the AI SDK get: everything they ask goes through our connection, which knows the key, bounds the
// answers and distinguishes refusals from unknown outcomes. A submission is one POST, whatever the package would like to send.
import type { Submission } from '../backend.ts'
import {
  type Answer,
  type Connection,
  Failed,
  NoVerdict,
  PaidForNothing,
  Refused,
  toReason,
  Unknown,
} from '../connection.ts'
import { toJsonBody } from '../media/multipart.ts'
import { readRawCost } from './ai-sdk-cost.ts'

/** The exchange of a package in one call. */
export interface Wire {
  readonly fetch: typeof fetch
  /** The first answer; null while there was none. */
  readonly answer: () => Answer | null
  /** URLs that the package wanted to download after its submission. */
  readonly urls: readonly string[]
  /** The error of the call, in the terms of the state machine. */
  explain(error: unknown): Error
}

type Exchange = (method: string, at: string, body: unknown) => Promise<Answer>

function createWire(
  toUrl: (url: string) => string,
  exchange: Exchange,
  explain: (error: unknown, answer: Answer | null) => Error,
): Omit<Wire, 'urls'> {
  let first: Answer | null = null
  let failure: unknown = null
  return {
    async fetch(url, { method = 'GET', body } = {}) {
      try {
        const answer = await exchange(method, toUrl(String(url)), body)
        first ??= answer
        return toResponse(answer)
      } catch (error) {
        failure ??= error
        throw error
      }
    },
    answer: () => first,
    explain: (error) => (failure instanceof Error ? failure : explain(error, first)),
  }
}

/** Makes one submission; what the package would download afterwards is noted, and downloaded by the state machine. */
export function openSubmission(
  { connection, timeoutMs, signal }: Pick<Submission, 'connection' | 'timeoutMs' | 'signal'>,
  toUrl: (url: string) => string,
  isResult: boolean,
): Wire {
  const urls: string[] = []
  let sent = false
  const wire = createWire(
    toUrl,
    async (method, at, body) => {
      if (method === 'GET') {
        urls.push(at)
        return { status: 200, headers: {}, body: Buffer.from('not downloaded'), json: null }
      }
      if (sent) throw new PaidForNothing('the package asks for another paid request')
      sent = true
      const { headers } = toJsonBody(null)
      return connection.submit(
        { method: 'POST', at, headers, body: String(body), ...(signal && { signal }) },
        { timeoutMs, large: isResult },
      )
    },
    (error, answer) => {
      const words = connection.quote(toWords(error))
      if (!answer) return new Refused(`Nothing was sent to ${connection.provider}: ${words}`, null, false)
      if (!isResult)
        return new Unknown(`${connection.provider} answered without an id${toReason(answer.json, connection)}`)
      // The errors of the SDK are about answers that it cannot read; a package's own say why there is no output.
      const cost = readRawCost(answer.json)
      return isOfSdk(error)
        ? new PaidForNothing(
            `the package cannot read its answer${toReason(answer.json, connection) || `: ${words}`}`,
            cost,
          )
        : new Failed(words, cost)
    },
  )
  return { ...wire, urls }
}

/** Asks questions, which cost nothing. */
export function openQuestion(connection: Connection, toUrl: (url: string) => string): Wire {
  const wire = createWire(
    toUrl,
    async (method, at) => {
      if (method !== 'GET') throw new NoVerdict(`the package asks a question with ${method}`)
      return connection.ask({ method, at }, { large: true })
    },
    (error) =>
      new NoVerdict(
        `${connection.provider} answered what its package cannot read: ${connection.quote(toWords(error))}`,
      ),
  )
  return { ...wire, urls: [] }
}

function toResponse({ status, headers, body }: Answer): Response {
  return new Response(body.length > 0 ? new Uint8Array(body) : null, {
    status,
    headers: { 'content-type': headers['content-type'] ?? 'application/octet-stream' },
  })
}

function toWords(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function isOfSdk(error: unknown): boolean {
  return error instanceof Error && error.name.startsWith('AI_')
}
