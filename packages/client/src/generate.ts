// One call from an input to outputs: quote, start, follow; or run, follow. An idempotency key makes the start safe to repeat.
import { JobFailed, mayPass, Refused, TooExpensive, type Unreachable } from './errors.ts'
import { followJob, type FollowOptions, repeat } from './follow.ts'
import type { Http } from './http.ts'
import type { Input, Job, Quote } from './records.ts'

/** How a start is sent, and its job followed. */
export interface StartOptions extends FollowOptions {
  /**
   * A call with the same key, model and input resumes: it pays nothing again and waits for the job that was started before.
   * Default: a random one.
   */
  readonly idempotencyKey?: string | undefined
  /** Labels that the job keeps, such as `{ team: 'ads' }`. A call that resumes does not change those of the job. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** Where the end of the job is sent by POST. The key needs the permission `webhooks`; its account has one secret for all starts. */
  readonly webhookUrl?: string | undefined
  /** Pauses between attempts of what is safe to repeat; empty for one attempt. Default: three repetitions in six seconds. */
  readonly pausesMs?: readonly number[] | undefined
}

/** How a generation is made. */
export interface GenerateOptions extends StartOptions {
  /** Refuses a quote above it. Default: none is. */
  readonly maxCredits?: number | undefined
  /** Told the quote before it is paid; what it throws or rejects with stops the generation, and nothing is started. */
  readonly onQuote?: ((quote: Quote) => void | Promise<void>) | undefined
  /** A quote for exactly this model and input, to start with instead of asking for one. */
  readonly quote?: Quote | undefined
}

/** How a run is made. */
export interface RunOptions extends StartOptions {
  /** The most that it may cost, which belongs to the request of the key. */
  readonly maxCredits: number
  /** Whether the end of the job is awaited. Default: it is. */
  readonly wait?: boolean | undefined
}

/**
 * Starts a generation and returns its job, not yet ended.
 * @throws TooExpensive, Refused, Unreachable
 */
export async function startGeneration(
  http: Http,
  model: string,
  input: Input,
  options: GenerateOptions = {},
): Promise<Job> {
  const {
    idempotencyKey = createIdempotencyKey(),
    maxCredits = Number.POSITIVE_INFINITY,
    onQuote,
    signal,
    pausesMs,
  } = options
  const resumes = options.idempotencyKey !== undefined && !options.quote
  const earlier = resumes ? await findStarted(http, idempotencyKey, options) : null
  const start = (quoteId: string): Promise<Job> =>
    send(http, '/v1/generate', { model, input, quote_id: quoteId }, { ...options, idempotencyKey }, toHeaders(options))
  // The server compares the whole request, the quote with it.
  if (earlier) return start(earlier.quote_id)
  const quote =
    options.quote ??
    (await repeat(() => http.json<Quote>('/v1/quotes', { body: { model, input }, signal }), signal, pausesMs))
  if (quote.credits > maxCredits) throw new TooExpensive(quote, maxCredits)
  await onQuote?.(quote)
  try {
    return await start(quote.quote_id)
  } catch (error) {
    // Another call with this key may have come first, with a quote of its own.
    const reused = error instanceof Refused && error.code === 'idempotency_key_reused'
    const first = reused ? await findStarted(http, idempotencyKey, options) : null
    if (!first) throw error
    return start(first.quote_id)
  }
}

/**
 * Starts a generation if it costs at most `maxCredits`, in one request, and waits for its end.
 * @throws Refused `price_above_maximum` if it costs more, JobFailed if it ended without outputs, besides what following throws
 */
export async function run(http: Http, model: string, input: Input, options: RunOptions): Promise<Job> {
  const { idempotencyKey = createIdempotencyKey(), maxCredits, labels, webhookUrl, wait = true } = options
  const terms = { ...(labels && { labels }), ...(webhookUrl && { webhook_url: webhookUrl }) }
  const body = { model, input, max_credits: maxCredits, ...terms }
  const started = await send(http, '/v1/run', body, { ...options, idempotencyKey })
  return wait ? finish(http, started, options) : started
}

/** Sends a start until it is answered. */
async function send(
  http: Http,
  path: string,
  body: object,
  { idempotencyKey, signal, pausesMs }: StartOptions & { idempotencyKey: string },
  others: Readonly<Record<string, string>> = {},
): Promise<Job> {
  const headers = { 'idempotency-key': idempotencyKey, ...others }
  try {
    return await repeat(() => http.json<Job>(path, { body, headers, signal }), signal, pausesMs)
  } catch (error) {
    if (mayPass(error)) (error as Refused | Unreachable).idempotencyKey = idempotencyKey
    throw error
  }
}

/** Labels and the webhook as headers. @throws Refused for what no header can carry */
function toHeaders({ labels = {}, webhookUrl }: StartOptions): Record<string, string> {
  const entries = Object.entries(labels)
  const written = entries.map(([name, value]) => {
    // eslint-disable-next-line no-control-regex
    if (/[\u0000-\u001f\u007f]/.test(name + value))
      throw refuseTerm(`The label ${JSON.stringify(name)} must be one line, without control characters.`)
    return `${name}="${value.replaceAll(/["\\]/g, '\\$&')}"`
  })
  // eslint-disable-next-line no-control-regex
  if (webhookUrl && /[\u0000-\u001f\u007f]/.test(webhookUrl))
    throw refuseTerm('The webhookUrl must be one line, without control characters.')
  return {
    ...(entries.length > 0 && { 'mediagen-labels': toHeaderText(written.join(', ')) }),
    ...(webhookUrl && { 'mediagen-webhook-url': toHeaderText(webhookUrl) }),
  }
}

/** Headers of `fetch` are bytes. */
function toHeaderText(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text))
}

/** As the server would refuse it. */
function refuseTerm(detail: string): Refused {
  const problem = { type: 'about:blank', title: 'Invalid request', status: 400, detail, code: 'invalid_request' }
  return new Refused({ ...problem, retryable: false, request_id: '' })
}

/**
 * A key for one intended generation: a UUIDv7 (RFC 9562) of 72 random bits. It begins with the time, so the server writes it beside
 * the keys before it; a random one would change a page of the index for itself.
 */
export function createIdempotencyKey(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  // `crypto.randomUUID` is missing in pages of http: addresses other than localhost.
  const bytes = crypto.getRandomValues(new Uint8Array(9))
  const random = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6)}`
}

/** The job that was started with this key before. */
async function findStarted(http: Http, key: string, { signal, pausesMs }: GenerateOptions): Promise<Job | null> {
  const path = `/v1/jobs?idempotency_key=${encodeURIComponent(key)}`
  try {
    const { data } = await repeat(() => http.json<{ data: Job[] }>(path, { signal }), signal, pausesMs)
    return data[0] ?? null
  } catch (error) {
    // A key that may start jobs and not read them.
    if (error instanceof Refused && error.code === 'missing_permission') return null
    throw error
  }
}

/**
 * Starts a generation, waits for its end and returns the job with its outputs.
 * @throws JobFailed if it ended without them, besides what starting and following throw
 */
export async function generate(http: Http, model: string, input: Input, options: GenerateOptions = {}): Promise<Job> {
  return finish(http, await startGeneration(http, model, input, options), options)
}

/** The job with its outputs, once it has ended. @throws JobFailed */
async function finish(http: Http, started: Job, options: FollowOptions): Promise<Job> {
  options.onJob?.(started)
  const job = await followJob(http, started.job_id, options)
  if (job.status !== 'succeeded') throw new JobFailed(job)
  return job
}
