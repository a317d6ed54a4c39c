// Downloads outputs that other servers made for a run: within limits, from public addresses and the origin of that server.
import type { lookup } from 'node:dns'
import { open } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { type Downloaded, type DownloadOptions, EngineError } from '@mediagen/engine/engine.ts'
import type { Dispatcher } from 'undici'
import { toFailure } from '../../outgoing/failure.ts'
import { type AllowedHosts, everyHost, PrivateAddressError } from '../../outgoing/hosts.ts'
import { type AllowedPorts, everyPort, findRefusedPort, noFurtherPorts } from '../../outgoing/ports.ts'
import { createPublicClient, type PublicClient } from '../../outgoing/public-client.ts'
import { isCompressed } from './content-encoding.ts'

const maxRedirects = 5
// Connecting, the headers, and each silence within the body.
const idleMs = 30_000
const redirects = new Set([301, 302, 303, 307, 308])
// Statuses below 500 that may pass. A store may not know yet what it was just given.
const passing = new Set([403, 404, 408, 410, 425, 429])
// Number of tries for a missing file; other failures may last longer.
const missingTries = 4
const defaultFirstPauseMs = 500
const longestPauseMs = 30_000

export interface DownloaderOptions {
  readonly allowed: AllowedHosts
  readonly allowedPorts?: AllowedPorts
  /** Maximum bytes of a file. */
  readonly maxBytes: number
  /** How long all tries of one file may take. */
  readonly timeoutMs: number
  /** The pause before the second try; each later one is twice as long. Default: half a second. */
  readonly firstPauseMs?: number
  /** Resolves names; a test may pass its own. */
  readonly resolve?: typeof lookup
}

export interface Downloader extends AsyncDisposable {
  /**
   * Downloads a URL to a path, and again as long as it fails in a way that may pass.
   * @throws EngineError `output_unavailable`, `retryable` if the failure may pass; the reason of the signal when it aborts
   */
  download(url: string, path: string, signal: AbortSignal, options?: DownloadOptions): Promise<Downloaded>
}

/** A failure of one try. */
class Refused extends Error {
  readonly mayPass: boolean
  readonly missing: boolean
  constructor(words: string, mayPass: boolean, missing = false) {
    super(words)
    this.mayPass = mayPass
    this.missing = missing
  }
}

/** Creates a downloader; nothing is opened before the first download. */
export function createDownloader(options: DownloaderOptions): Downloader {
  const { allowed, allowedPorts = noFurtherPorts, timeoutMs, resolve, firstPauseMs = defaultFirstPauseMs } = options
  const shared = { timeoutMs: idleMs, ...(resolve && { resolve }) }
  const publicClient = createPublicClient({ ...shared, allowed, allowedPorts })
  // The operator named the origin, so it may be anywhere; requests elsewhere do not use this client.
  const ownClient = createPublicClient({ ...shared, allowed: everyHost, allowedPorts: everyPort })

  async function tryOnce(first: URL, path: string, signal: AbortSignal, access: DownloadOptions): Promise<Downloaded> {
    let url = first
    for (let followed = 0; followed <= maxRedirects; followed++) {
      const own = url.origin === access.origin
      checkUrl(url, own ? everyPort : allowedPorts)
      const answer = await request(own ? ownClient : publicClient, url, signal, own ? access.headers : undefined)
      if (answer.statusCode === 200) return await save(answer, path, options.maxBytes)
      answer.body.on('error', () => {}).destroy()
      const { statusCode: status, headers } = answer
      if (!redirects.has(status) || typeof headers.location !== 'string')
        throw new Refused(`${url.hostname} answered ${status}`, status >= 500 || passing.has(status), status < 500)
      const next = URL.parse(headers.location, url)
      if (!next) throw new Refused('it is redirected to a URL that cannot be read', false)
      url = next
    }
    throw new Refused(`it is redirected more than ${maxRedirects} times`, false)
  }

  return {
    async download(url, path, signal, access = {}) {
      const target = URL.parse(url)
      if (!target) throw unavailable('its URL cannot be read', false)
      const late = AbortSignal.timeout(timeoutMs)
      const both = AbortSignal.any([signal, late])
      let misses = 0
      for (let tries = 1; ; tries++) {
        const failure = await tryOnce(target, path, both, access).catch((error: unknown) => error)
        if (!(failure instanceof Error)) return failure as Downloaded
        signal.throwIfAborted()
        if (late.aborted) throw unavailable(`it could not be fetched in ${timeoutMs / 1000} s`, true, failure)
        const { words, mayPass, missing } = describe(failure, target)
        if (missing) misses += 1
        if (!mayPass || misses >= missingTries) throw unavailable(words, mayPass, failure)
        await pause(Math.min(longestPauseMs, firstPauseMs * 2 ** (tries - 1)), undefined, { signal: both }).catch(
          () => {},
        )
        signal.throwIfAborted()
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([publicClient.destroy(), ownClient.destroy()])
    },
  }
}

function checkUrl(url: URL, ports: AllowedPorts): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new Refused('its URL is neither http: nor https:', false)
  if (url.username !== '' || url.password !== '') throw new Refused('its URL has a user name or password', false)
  const refusedPort = findRefusedPort(ports, url)
  if (refusedPort) throw new Refused(refusedPort, false)
}

function request(
  client: PublicClient,
  url: URL,
  signal: AbortSignal,
  headers?: Readonly<Record<string, string>>,
): Promise<Dispatcher.ResponseData> {
  return client.request(url, {
    method: 'GET',
    signal,
    reset: true,
    headers: { 'user-agent': 'mediagen-fetch/1', 'accept-encoding': 'identity', ...headers },
  })
}

/** Writes a body to a file, up to the limit. */
async function save({ headers, body }: Dispatcher.ResponseData, path: string, maxBytes: number): Promise<Downloaded> {
  try {
    if (isCompressed(headers['content-encoding'])) throw new Refused('it is sent compressed', false)
    let bytes = 0
    await using file = await open(path, 'w')
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes) throw new Refused(`it has more than ${maxBytes} bytes (MEDIAGEN_MAX_OUTPUT_BYTES)`, false)
      await file.appendFile(chunk)
    }
    const type = headers['content-type']
    return { bytes, contentType: typeof type === 'string' ? (type.split(';')[0]?.trim().toLowerCase() ?? null) : null }
  } finally {
    body.on('error', () => {}).destroy()
  }
}

function describe(error: Error, url: URL): { words: string; mayPass: boolean; missing: boolean } {
  if (error instanceof Refused)
    return { words: error.message, mayPass: error.mayPass, missing: error.missing && error.mayPass }
  if (error instanceof PrivateAddressError)
    return { words: `${url.hostname} does not lead to a public address`, mayPass: false, missing: false }
  return { words: `${toFailure(error).words} (${url.hostname})`, mayPass: true, missing: false }
}

function unavailable(words: string, retryable: boolean, cause?: Error): EngineError {
  return new EngineError('output_unavailable', `An output could not be fetched: ${words}.`, retryable, { cause })
}
