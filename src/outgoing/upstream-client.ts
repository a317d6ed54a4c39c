// Requests to one provider of media: bounded in time and size, to its own origin or to public addresses, with its credentials
// sent to its own origin alone. Nothing is repeated, because a repeated request may be paid twice.
import type { lookup } from 'node:dns'
import type { Dispatcher } from 'undici'
import { toFailure, wasNotSent } from './failure.ts'
import { onlyPublic, parseAllowedHosts, PrivateAddressError } from './hosts.ts'
import type { Listener, ListenRequest } from './listener.ts'
import { noFurtherPorts, RefusedPortError } from './ports.ts'
import { createPublicClient, type PublicClient } from './public-client.ts'

const connectMs = 10_000
const userAgent = 'mediagen/1'
const maxRedirects = 3
const redirects = new Set([301, 302, 303, 307, 308])

/** A request to a provider. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** For the whole exchange, in milliseconds. */
  readonly timeoutMs: number
  /** Size of the answer's body. */
  readonly maxBytes: number
  readonly signal?: AbortSignal
}

/** A complete answer with any status. */
export interface UpstreamAnswer {
  readonly status: number
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Makes requests to one provider. */
export interface UpstreamClient {
  /**
   * Makes one request. Only a GET follows redirects.
   * @throws NoAnswer
   */
  request(request: UpstreamRequest): Promise<UpstreamAnswer>
  /** Listens to a WebSocket at the provider's own origin; redirects are not followed. Never throws. */
  listen(url: string, request: Omit<ListenRequest, 'headers'>): Listener
  close(): Promise<void>
}

/** There was no complete answer. The message is a clause that reveals nothing about this server's network. */
export class NoAnswer extends Error {
  /** Whether the request may have reached the provider; false only if it certainly did not. */
  readonly sent: boolean
  /** The status of an answer whose body did not arrive whole; null if there was none. */
  readonly status: number | null

  constructor(words: string, sent: boolean, status: number | null = null, options?: ErrorOptions) {
    super(words, options)
    this.name = 'NoAnswer'
    this.sent = sent
    this.status = status
  }
}

/** What a client needs. */
export interface UpstreamClientOptions {
  /** Naming a private host here allows requests to it, at this port. */
  readonly baseUrl: string
  /** Sent to the origin of `baseUrl`, and to hosts of `domain`, alone. */
  readonly credentials: Readonly<Record<string, string>>
  /** The provider's domain, where the hosts of its answers are: they get the credentials over https, if `baseUrl` is one. */
  readonly domain?: string
  /** Resolves names; a test may pass its own. */
  readonly resolve?: typeof lookup
  /** Opens the client for other origins; a test may pass its own. */
  readonly openPublic?: typeof createPublicClient
}

/** Creates a client; nothing is loaded or opened before its first request. */
export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const { baseUrl, credentials, domain, resolve, openPublic = createPublicClient } = options
  const base = new URL(baseUrl)
  const shared = { timeoutMs: connectMs, ...(resolve && { resolve }) }
  const ownClient = createPublicClient({
    ...shared,
    allowed: parseAllowedHosts(base.hostname.replace(/^\[(.*)\]$/, '$1')),
    allowedPorts: base.port === '' ? noFurtherPorts : new Set([Number(base.port)]),
  })
  const publicClient = openPublic({ ...shared, allowed: onlyPublic })

  async function follow(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer> {
    let url = parseUrl(request.url)
    for (let followed = 0; ; followed++) {
      const isOwnOrigin = url.origin === base.origin
      const key = getsCredentials(url, base, domain) ? credentials : {}
      const answer = await send(isOwnOrigin ? ownClient : publicClient, url, request, key, signal)
      const { location } = answer.headers
      if (request.method !== 'GET' || !redirects.has(answer.status) || location === undefined) return answer
      if (followed === maxRedirects) throw new NoAnswer(`it redirects more than ${maxRedirects} times`, true)
      url = parseUrl(location, url)
    }
  }

  return {
    async request(request) {
      const abort = new AbortController()
      const end = (): void => abort.abort()
      const timer = setTimeout(end, request.timeoutMs)
      request.signal?.addEventListener('abort', end)
      if (request.signal?.aborted) end()
      try {
        return await follow(request, abort.signal)
      } catch (error) {
        if (error instanceof NoAnswer) throw error
        if (!abort.signal.aborted) throw explain(error)
        throw new NoAnswer(request.signal?.aborted ? 'the request was given up' : inTime(request.timeoutMs), true)
      } finally {
        clearTimeout(timer)
        request.signal?.removeEventListener('abort', end)
      }
    },
    listen(url, request) {
      // Whatever the URL says, it goes to our provider.
      const { pathname, search } = new URL(url)
      const target = Object.assign(new URL(base), { pathname, search })
      return ownClient.listen(target, { ...request, headers: { 'user-agent': userAgent, ...credentials } })
    },
    async close() {
      await Promise.all([ownClient.destroy(), publicClient.destroy()])
    },
  }
}

/** Whether a URL is of the provider at `base`: of its origin or, if that is in the domain, of another host there. */
export function getsCredentials(url: URL, base: URL, domain?: string): boolean {
  return url.origin === base.origin || (isIn(domain, url) && isIn(domain, base))
}

function isIn(domain: string | undefined, { protocol, hostname }: URL): boolean {
  return domain !== undefined && protocol === 'https:' && hostname.endsWith(`.${domain}`)
}

async function send(
  client: PublicClient,
  url: URL,
  { method, headers, body, timeoutMs, maxBytes }: UpstreamRequest,
  credentials: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<UpstreamAnswer> {
  const answer = await client.request(url, {
    method,
    signal,
    // The other end may close an idle connection while a request is on its way; then it is unknown whether the request arrived.
    reset: true,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    headers: { 'user-agent': userAgent, accept: '*/*', 'accept-encoding': 'identity', ...headers, ...credentials },
    ...(body !== undefined && { body }),
  })
  return { status: answer.statusCode, headers: toHeaders(answer), body: await read(answer, maxBytes) }
}

async function read({ body, headers, statusCode }: Dispatcher.ResponseData, maxBytes: number): Promise<Buffer> {
  const tooLong = (): NoAnswer => new NoAnswer(`its answer is longer than ${maxBytes} bytes`, true, statusCode)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLong()
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLong()
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } catch (error) {
    if (error instanceof NoAnswer) throw error
    throw new NoAnswer(toFailure(error).words, true, statusCode, { cause: error })
  } finally {
    body.on('error', () => {}).destroy()
  }
}

function toHeaders({ headers }: Dispatcher.ResponseData): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  )
}

function parseUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base)
  const what = base ? 'it redirects to' : 'it named'
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new NoAnswer(`${what} something that is not an http or https URL`, base !== undefined)
  if (url.username !== '' || url.password !== '')
    throw new NoAnswer(`${what} a URL with a user name or password`, base !== undefined)
  return url
}

function explain(error: unknown): NoAnswer {
  if (error instanceof PrivateAddressError) return new NoAnswer('it leads to a private address', !wasNotSent(error))
  if (error instanceof RefusedPortError) return new NoAnswer(error.message, !wasNotSent(error))
  return new NoAnswer(toFailure(error).words, !wasNotSent(error), null, { cause: error })
}

function inTime(timeoutMs: number): string {
  return `there was no answer within ${timeoutMs / 1000} s`
}
