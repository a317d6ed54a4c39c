// References that are http: and https: URLs, fetched within limits, because the server is not trusted.
import type { lookup } from 'node:dns'
import { open } from 'node:fs/promises'
import { EngineError } from '@mediagen/engine/engine.ts'
import { invalidMedia } from '@mediagen/engine/media.ts'
import type { Dispatcher } from 'undici'
import { toFailure, toFailureCode } from '../../outgoing/failure.ts'
import { type AllowedHosts, PrivateAddressError } from '../../outgoing/hosts.ts'
import { type AllowedPorts, findRefusedPort, noFurtherPorts } from '../../outgoing/ports.ts'
import { createPublicClient, type PublicClient } from '../../outgoing/public-client.ts'
import { isCompressed } from './content-encoding.ts'
import { type MediaReader, type MediaRequest, mediaTooLarge } from './reader.ts'

const maxRedirects = 3
const maxUrlChars = 8192
// Connecting, the headers, and each silence within the body.
const idleMs = 10_000
const shownHostChars = 100
// An error of the file system is not the fault of the URL.
const ownTrouble = /^(ENOSPC|EDQUOT|EIO|EROFS|EMFILE|ENFILE|EACCES|EPERM|ENOENT|EEXIST)$/
const redirects = new Set([301, 302, 303, 307, 308])
// Statuses below 500 that allow a retry.
const passing = new Set([408, 425, 429])

export interface UrlReaderOptions {
  /** Hosts that are allowed in addition to public addresses. */
  readonly allowed: AllowedHosts
  /** Ports that are allowed in addition to web ports. Default: none. */
  readonly allowedPorts?: AllowedPorts
  /** How long one file may take, redirects included. */
  readonly timeoutMs: number
  /** Resolves names; a test may pass its own. */
  readonly resolve?: typeof lookup
}

/**
 * Creates a reader of URLs. It connects to public and allowed addresses only, checked when each connection is made, and to
 * web ports and allowed ones; follows three redirects; refuses encoded answers; and ignores headers about the content.
 */
export function createUrlReader(options: UrlReaderOptions): MediaReader & AsyncDisposable {
  const { allowed, allowedPorts = noFurtherPorts, timeoutMs, resolve } = options
  const client = createPublicClient({
    allowed,
    allowedPorts,
    timeoutMs: Math.min(idleMs, timeoutMs),
    ...(resolve && { resolve }),
  })
  const readUrl = (reference: string, field: string, base?: URL): URL => parseUrl(allowedPorts, reference, field, base)
  return {
    remote: true,
    accepts: (reference) => /^https?:\/\//i.test(reference),
    async read(request, path) {
      const { reference, field } = request
      const url = readUrl(reference, field)
      const clock = AbortSignal.timeout(timeoutMs)
      const signal = AbortSignal.any([request.signal, clock])
      try {
        const answer = await follow(url, field, { client, readUrl }, signal)
        await save(answer, request, path)
      } catch (error) {
        request.signal.throwIfAborted()
        throw clock.aborted ? tookTooLong(field, url, timeoutMs) : explain(error, field, url, timeoutMs)
      }
    },
    [Symbol.asyncDispose]: () => client.destroy(),
  }
}

/** Checks what can be checked before a connection is made. */
function parseUrl(allowedPorts: AllowedPorts, reference: string, field: string, base?: URL): URL {
  const what = base ? 'redirects to a URL' : 'is a URL'
  if (reference.length > maxUrlChars) throw invalidMedia(field, `${what} of more than ${maxUrlChars} characters`)
  const url = URL.parse(reference, base)
  if (!url) throw invalidMedia(field, `${what} that cannot be read`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw invalidMedia(field, `${what} that is neither http: nor https:`)
  if (url.username !== '' || url.password !== '')
    throw invalidMedia(field, `${what} with a user name or password, which is not accepted`)
  const refusedPort = findRefusedPort(allowedPorts, url)
  if (refusedPort) throw invalidMedia(field, `${what} that is not fetched: ${refusedPort}`)
  return url
}

/** Returns the body of the first answer that is not a redirect. */
async function follow(
  from: URL,
  field: string,
  { client, readUrl }: { client: PublicClient; readUrl(reference: string, field: string, base: URL): URL },
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  let url = from
  for (let followed = 0; ; followed++) {
    const answer = await client.request(url, {
      method: 'GET',
      signal,
      // Connections are not reused.
      reset: true,
      headers: {
        'user-agent': 'mediagen-fetch/1',
        accept: 'image/*, video/*, audio/*',
        'accept-encoding': 'identity',
      },
    })
    const { statusCode, headers } = answer
    if (statusCode === 200) return answer
    drop(answer)
    if (!redirects.has(statusCode) || typeof headers.location !== 'string') throw refusedBy(field, from, statusCode)
    if (followed === maxRedirects) throw invalidMedia(field, `is redirected more than ${maxRedirects} times`)
    url = readUrl(headers.location, field, url)
  }
}

/** Writes a body to a file, up to the limit. */
async function save(answer: Dispatcher.ResponseData, request: MediaRequest, path: string): Promise<void> {
  const { headers, body } = answer
  const { field, maxBytes, take } = request
  try {
    if (isCompressed(headers['content-encoding']))
      throw invalidMedia(field, 'is sent compressed (Content-Encoding), which is not accepted')
    if (Number(headers['content-length'] ?? 0) > maxBytes) throw mediaTooLarge(request)
    await using file = await open(path, 'wx')
    for await (const chunk of body as AsyncIterable<Buffer>) {
      take(chunk.length)
      await file.appendFile(chunk)
    }
  } finally {
    drop(answer)
  }
}

/** Discards the rest of an answer. */
function drop({ body }: Dispatcher.ResponseData): void {
  body.on('error', () => {}).destroy()
}

function explain(error: unknown, field: string, url: URL, timeoutMs: number): unknown {
  if (error instanceof EngineError) return error
  // A name that does not resolve and one that resolves to a private address get the same message, because names in a private network are private.
  if (error instanceof PrivateAddressError || toFailureCode(error) === 'ENOTFOUND')
    return invalidMedia(field, `cannot be fetched: ${showHost(url)} does not lead to a public address`)
  if (ownTrouble.test(toFailureCode(error))) return error
  const { kind, words } = toFailure(error)
  if (kind === 'timeout') return tookTooLong(field, url, Math.min(idleMs, timeoutMs))
  return unavailable(field, `${words} (${showHost(url)})`, kind === 'connection', error)
}

function refusedBy(field: string, url: URL, status: number): EngineError {
  return unavailable(field, `${showHost(url)} answered ${status}`, status >= 500 || passing.has(status))
}

function tookTooLong(field: string, url: URL, timeoutMs: number): EngineError {
  return unavailable(field, `${showHost(url)} took longer than ${timeoutMs / 1000} s`, true)
}

function unavailable(field: string, words: string, retryable: boolean, cause?: unknown): EngineError {
  return new EngineError('media_unavailable', `${field} cannot be fetched: ${words}.`, retryable, { cause })
}

function showHost({ hostname }: URL): string {
  return hostname.length > shownHostChars ? `${hostname.slice(0, shownHostChars)}…` : hostname
}
