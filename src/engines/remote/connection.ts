// The connection to one provider: distinguishes refusals from unknown outcomes, and removes keys from all messages.
import { EngineError, type JsonValue, type UpstreamCost } from '@mediagen/engine/engine.ts'
import type { Listener, ListenRequest } from '../../outgoing/listener.ts'
import { readRetryAfter } from '../../outgoing/retry-after.ts'
import { NoAnswer, type UpstreamClient, type UpstreamRequest } from '../../outgoing/upstream-client.ts'
import { createQuote } from './quote.ts'
import { deepestJson, mostJsonTokens, readJson } from './short-json.ts'

/** Statuses of answers that certainly accepted nothing. */
const refusals = new Set([400, 401, 402, 403, 404, 413, 422, 429])
// Nothing but a GET follows them. Yet a paid run may have been accepted: some servers redirect to what was made.
const redirects = new Set([301, 302, 307, 308])
// A question, not a submission.
const questionMs = 30_000
const smallAnswerBytes = 4 * 1024 * 1024
// PostgreSQL cannot store other ids: no text with NUL, and no long one in an index.
const storableId = /^[\u0020-\u007E]{1,255}$/
const longestUrl = 2048

/** Certain: the provider accepted nothing. */
export class Refused extends Error {
  /** Null when it could not be reached. */
  readonly status: number | null
  /** Whether the same submission may be accepted later: the provider is busy or could not be reached. */
  readonly passing: boolean
  /** The wait that the provider asked for, in milliseconds; null if it asked for none. */
  readonly waitMs: number | null

  constructor(message: string, status: number | null, passing: boolean, waitMs: number | null = null) {
    super(message)
    this.name = 'Refused'
    this.status = status
    this.passing = passing
    this.waitMs = waitMs
  }
}

/** It is unknown whether the submission was accepted. */
export class Unknown extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Unknown'
  }
}

/** An answer that says nothing about the run. */
export class NoVerdict extends Error {
  readonly status: number | null
  readonly waitMs: number | null
  constructor(message: string, status: number | null = null, waitMs: number | null = null) {
    super(message)
    this.name = 'NoVerdict'
    this.status = status
    this.waitMs = waitMs
  }

  /** The same question would fail again. */
  get isLasting(): boolean {
    return this.status !== null && this.status >= 400 && this.status < 500 && this.status !== 429 && this.status !== 408
  }
}

/** Any failure of a question as one that says nothing about the run: a fault of ours is no reason to refund what was accepted. */
export function toNoVerdict(error: unknown, connection: Connection): NoVerdict {
  if (error instanceof NoVerdict) return error
  if (error instanceof EngineError) return new NoVerdict(error.message.replace(/\.$/, ''))
  connection.warn([String(error)])
  return new NoVerdict(`the state of the run at ${connection.provider} could not be read`)
}

/** A web page in the place of an answer: a proxy's, or that of another server than the catalog means. */
export class WebPage extends NoVerdict {}

/** The submission was accepted and paid, but what came back is no output. */
export class PaidForNothing extends Error {
  readonly cost: UpstreamCost | null
  constructor(message: string, cost: UpstreamCost | null = null) {
    super(message)
    this.name = 'PaidForNothing'
    this.cost = cost
  }
}

/** The run was accepted and ended without success, all in one answer. */
export class Failed extends Error {
  readonly cost: UpstreamCost | null
  constructor(message: string, cost: UpstreamCost | null = null) {
    super(message)
    this.name = 'Failed'
    this.cost = cost
  }
}

/** An answer of success. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** The body as JSON; null if it is none. */
  readonly json: JsonValue
}

type Question = Pick<UpstreamRequest, 'method'> & {
  /** Below the base URL, or a whole URL that the provider gave. */
  readonly at: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly signal?: AbortSignal
}

/** What else a question may need. */
interface QuestionOptions {
  /** Statuses that are answers, beside 2xx. */
  readonly also?: readonly number[]
  /** The answer holds files. */
  readonly large?: boolean
  readonly timeoutMs?: number
}

/** What else a submission needs. */
interface SubmissionOptions {
  readonly timeoutMs: number
  /** Statuses that say that the provider is busy, beside 429. */
  readonly busy?: readonly number[]
  /** The answer holds files. */
  readonly large?: boolean
  /** Finds the reason in the body of a refusal, where its shape is not a usual one. */
  readonly reason?: (json: JsonValue) => string | null
}

/** A connection to a provider. */
export interface Connection {
  /** The catalog's name of the provider. */
  readonly provider: string
  readonly origin: string
  /** A URL below the base URL. */
  toUrl(at: string): string
  /** Makes the request that may cost money. @throws Refused, Unknown */
  submit(question: Question, options: SubmissionOptions): Promise<Answer>
  /** Makes any other request; any status but 2xx and `also` is no verdict. @throws NoVerdict */
  ask(question: Question, options?: QuestionOptions): Promise<Answer>
  /** Listens to a WebSocket below the base URL. Never throws; it may end at any time. */
  listen(at: string, request: Omit<ListenRequest, 'headers'>): Listener
  /** Makes the words of a provider fit to be shown: no keys, no queries of URLs, no control characters, at most 500 characters. */
  quote(words: unknown): string
  /** Tells the operator what the provider leaves out of a request, or why its answer could not be read. */
  warn(warnings: readonly unknown[]): void
  /** The headers of the provider's key, for downloads from its origin. */
  readonly credentials: Readonly<Record<string, string>>
}

/** What a connection needs. */
export interface ConnectionDeps {
  readonly provider: string
  readonly baseUrl: string
  readonly client: UpstreamClient
  readonly credentials: Readonly<Record<string, string>>
  /** A text without keys. */
  readonly hide: (text: string) => string
  /** Called with the fields that the provider leaves out of a request, and with why an answer could not be read. */
  readonly onWarning?: (words: string) => void
  /** Whether what is submitted costs only time; then a redirect is a refusal. */
  readonly free: boolean
  /** Size of the largest answer that holds files. */
  readonly maxBytes: number
}

/** Creates a connection. */
export function createConnection(deps: ConnectionDeps): Connection {
  const { provider, client, maxBytes } = deps
  const base = deps.baseUrl.replace(/(?<!\/)\/+$/, '')
  const quote = createQuote(deps.hide)
  const toUrl = (at: string): string => (/^https?:\/\//.test(at) ? at : base + at)

  async function exchange(question: Question, timeoutMs: number, large = false): Promise<Answer> {
    const { at, ...request } = question
    const answer = await client.request({
      ...request,
      url: toUrl(at),
      timeoutMs,
      maxBytes: large ? maxBytes : Math.min(maxBytes, smallAnswerBytes),
    })
    const json = readJson(answer.body)
    // Whatever else another answer says, its status says enough.
    if (json === undefined && answer.status >= 200 && answer.status < 300)
      throw new NoAnswer(
        `its answer is longer than ${mostJsonTokens} JSON tokens or ${deepestJson} levels`,
        true,
        answer.status,
      )
    return { ...answer, json: json ?? null }
  }

  return {
    provider,
    origin: new URL(base).origin,
    credentials: deps.credentials,
    toUrl,
    quote,
    listen: (at, request) => client.listen(toUrl(at), request),
    warn(warnings) {
      for (const warning of warnings) deps.onWarning?.(quote(warning))
    },
    async submit(question, { timeoutMs, busy = [], large, reason }) {
      let answer: Answer
      try {
        answer = await exchange(question, timeoutMs, large)
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error
        const words = `${provider} could not be asked: ${error.message}`
        if (!error.sent) throw new Refused(words, null, true)
        if (large && error.status === 200 && error.message.includes('longer than'))
          throw new PaidForNothing(error.message)
        throw new Unknown(words)
      }
      const { status } = answer
      if (status >= 200 && status < 300) {
        if (!isPage(answer)) return answer
        throw large ? new PaidForNothing('answered with a web page') : new Unknown(describePage(answer, provider))
      }
      const found = reason?.(answer.json)
      const words = found ? `${provider} answered ${status}: ${quote(found)}` : describe(answer, provider, quote)
      const isBusy = status === 429 || busy.includes(status)
      if (isBusy || refusals.has(status) || (deps.free && redirects.has(status)))
        throw new Refused(words, status, isBusy, findWait(answer))
      throw new Unknown(words)
    },
    async ask(question, { also = [], large, timeoutMs = questionMs } = {}) {
      try {
        const answer = await exchange(question, timeoutMs, large)
        const { status } = answer
        if (isPage(answer)) throw new WebPage(describePage(answer, provider), status)
        if ((status >= 200 && status < 300) || also.includes(status)) return answer
        throw new NoVerdict(describe(answer, provider, quote), status, status === 429 ? findWait(answer) : null)
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error
        throw new NoVerdict(`${provider} could not be asked: ${error.message}`, error.status)
      }
    },
  }
}

function isPage({ headers, json }: Answer): boolean {
  return json === null && /^(text\/html|application\/xhtml)/.test(headers['content-type'] ?? '')
}

function describePage({ status }: Answer, provider: string): string {
  return `${provider} answered ${status} with a web page, which no server of its kind does`
}

/** What a refusal says. */
function describe({ status, json, headers }: Answer, provider: string, quote: (words: unknown) => string): string {
  const reason = findReason(json)
  const kind = (headers['content-type'] ?? '').split(';', 1)[0] ?? ''
  return reason === undefined
    ? `${provider} answered ${status}${kind === '' || kind.includes('json') ? '' : ` (${quote(kind)})`}`
    : `${provider} answered ${status}: ${quote(reason)}`
}

/** The provider's own reason, wherever the usual shapes have it. */
function findReason(json: JsonValue): JsonValue | undefined {
  if (!isObject(json)) return undefined
  const said = [json['error'], json['detail'], json['message'], json['title'], json['error_message']].find(
    (one) => one !== undefined && one !== null && one !== '' && one !== false,
  )
  return isObject(said) ? (said['message'] ?? said) : said
}

/** The reason in an answer of success that holds nothing else, as the end of a clause; empty without one. */
export function toReason(json: JsonValue, { quote }: Pick<Connection, 'quote'>): string {
  const reason = findReason(json)
  return reason === undefined ? '' : `: ${quote(reason)}`
}

/** How long a provider asks to wait: Retry-After in seconds or as a date, or the body's hint. */
function findWait({ headers, json }: Answer): number | null {
  const hint = isObject(json) ? Number(json['retry_after'] ?? Number.NaN) * 1000 : Number.NaN
  const requested = readRetryAfter(headers) ?? Number.NaN
  const waits = [requested, hint].filter((ms) => Number.isFinite(ms) && ms >= 0)
  return waits.length === 0 ? null : Math.max(...waits)
}

/**
 * The id that a provider gave a submission.
 * @throws Unknown if the answer has none that can be stored
 */
export function readId(json: JsonValue, connection: Pick<Connection, 'provider' | 'quote'>, name = 'id'): string {
  const id = isObject(json) ? json[name] : null
  if (typeof id !== 'string' || !storableId.test(id))
    throw new Unknown(`${connection.provider} answered without a valid ${name}${toReason(json, connection)}`)
  return id
}

/** Whether a provider's answer has a URL here that can be stored. */
export function isUrl(value: unknown): value is string {
  return typeof value === 'string' && value.length <= longestUrl && URL.canParse(value)
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is { readonly [name: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
