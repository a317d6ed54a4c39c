// Requests to one bucket of an S3-compatible store: signed (AWS Signature Version 4), with time limits, repeated while the
// store is in trouble. Each of them may be sent twice: none does more the second time.
import { setTimeout as pause } from 'node:timers/promises'
import { AwsClient } from 'aws4fetch'

/** A bucket, and who may use it. */
export interface Bucket {
  /** Address of the bucket: `https://bucket.host` or `https://host/bucket`. */
  readonly url: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
}

export interface BucketRequest {
  /** What comes after the address of the bucket: the name of an object, or nothing. */
  readonly object?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Blob | Uint8Array<ArrayBuffer> | string
  readonly signal?: AbortSignal | undefined
  /** Whether 404 is an answer like any other. Default: no, it is a refusal. */
  readonly mayBeMissing?: boolean
  /** How long the request is repeated while the store is in trouble, in milliseconds. Default: as the bucket was opened. */
  readonly patienceMs?: number | undefined
  /** Whether it is also repeated while the store refuses the key or has no such bucket, which somebody may mend. Default: no. */
  readonly outlastsRefusals?: boolean
  /** Receives the reason before the request is repeated. */
  readonly onTrouble?: ((error: BlobsError) => void) | undefined
}

/** The store refused a request, or could not be reached. */
export class BlobsError extends Error {
  /** By this code the service knows that its store of files is in trouble. */
  readonly code = 'BLOBS_UNAVAILABLE'
  /** Whether the message names the setting that is wrong. */
  readonly isExplained: boolean

  constructor(message: string, { isExplained = false, ...options }: ErrorOptions & { isExplained?: boolean } = {}) {
    super(message, options)
    this.name = 'BlobsError'
    this.isExplained = isExplained
  }
}

export interface BucketClient {
  /**
   * Sends a request until it is answered by a success.
   * @throws BlobsError when the store refuses it, or is in trouble for too long
   */
  send(method: string, request?: BucketRequest): Promise<Response>
  /** A URL that anyone may read an object from. @param seconds at most 604,800, a week */
  sign(object: string, seconds: number): Promise<string>
}

// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
const wrongRegion = 'AWS_REGION is not the region of the bucket'
const wrongToken = 'AWS_SESSION_TOKEN is wrong or has expired'
const blame: Readonly<Record<string, string>> = {
  NoSuchBucket: 'the bucket that MEDIAGEN_FILES_URL names does not exist',
  InvalidBucketName: 'MEDIAGEN_FILES_URL names no bucket',
  InvalidAccessKeyId: 'AWS_ACCESS_KEY_ID is unknown there',
  SignatureDoesNotMatch: 'AWS_SECRET_ACCESS_KEY is not the secret of AWS_ACCESS_KEY_ID',
  AccessDenied: 'the key AWS_ACCESS_KEY_ID may not list, write, read and delete below MEDIAGEN_FILES_URL',
  AuthorizationHeaderMalformed: wrongRegion,
  PermanentRedirect: wrongRegion,
  TemporaryRedirect: wrongRegion,
  InvalidToken: wrongToken,
  ExpiredToken: wrongToken,
  RequestTimeTooSkewed: 'the clock of this machine is off',
}
const defaultPatienceMs = 60_000
const shortestPauseMs = 100
const longestPauseMs = 3000
// An answer has to begin within this time, and the time that the body takes at this rate.
const answerMs = 15_000
const bytesPerMs = 250

/** Creates the client; it need not be closed. @param patienceMs see `BucketRequest` */
export function createBucketClient(bucket: Bucket, patienceMs = defaultPatienceMs): BucketClient {
  const { url, region, accessKeyId, secretAccessKey, sessionToken } = bucket
  const signer = new AwsClient({
    accessKeyId,
    secretAccessKey,
    region,
    service: 's3',
    ...(sessionToken !== undefined && { sessionToken }),
  })

  async function attempt(method: string, { object = '', query = {}, headers = {}, body, signal }: BucketRequest) {
    const target = `${url}/${object}?${new URLSearchParams(query)}`
    const signed = await signer.sign(target, { method, headers: { ...headers } })
    // Not signed, because fetch sends this header once more where a range is requested.
    if (!signed.headers.has('range')) signed.headers.set('accept-encoding', 'identity')
    const late = new AbortController()
    const limitMs = answerMs + sizeOf(body) / bytesPerMs
    const timer = setTimeout(() => late.abort(new Error(`no answer within ${Math.ceil(limitMs / 1000)} s`)), limitMs)
    try {
      return await fetch(signed.url, {
        method,
        headers: signed.headers,
        body: body ?? null,
        redirect: 'manual',
        signal: AbortSignal.any([late.signal, ...(signal ? [signal] : [])]),
      })
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    async send(method, request = {}) {
      const { object = '', signal, outlastsRefusals = false } = request
      const untilMs = performance.now() + (request.patienceMs ?? patienceMs)
      for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
        const answer = await attempt(method, request).catch((error: unknown) => {
          signal?.throwIfAborted()
          return error as Error
        })
        if (answer instanceof Response && (answer.ok || (request.mayBeMissing && answer.status === 404))) return answer
        const refusal = answer instanceof Response ? await toRefusal(answer) : null
        const what = `${method} ${object || 'of the bucket'}`
        const error =
          refusal === null
            ? new BlobsError(`The store of files cannot be reached for ${what}: ${sayWhy(answer as Error)}`, {
                cause: answer,
              })
            : new BlobsError(`The store of files answered ${what} with ${refusal.words}`, refusal)
        const isOver = performance.now() + pauseMs > untilMs
        const mayPass = refusal === null || refusal.passes || (outlastsRefusals && refusal.canBeMended)
        if (isOver || !mayPass) throw error
        request.onTrouble?.(error)
        await pause(pauseMs, undefined, { signal })
      }
    },
    async sign(object, seconds) {
      const target = `${url}/${object}?${new URLSearchParams({ 'X-Amz-Expires': String(seconds) })}`
      return (await signer.sign(target, { aws: { signQuery: true } })).url
    },
  }
}

function sizeOf(body: BucketRequest['body']): number {
  return body === undefined || typeof body === 'string' ? 0 : body instanceof Blob ? body.size : body.length
}

interface Refusal {
  readonly words: string
  /** Whether they name the setting that is wrong. */
  readonly isExplained: boolean
  /** Whether it may pass by itself. */
  readonly passes: boolean
  /** Whether somebody may mend it: the key, its rights, the clock, the bucket. */
  readonly canBeMended: boolean
}

async function toRefusal(answer: Response): Promise<Refusal> {
  const text = await answer.text().catch(() => '')
  const code = readTag(text, 'Code')
  const message = readTag(text, 'Message')
  // A body that comes too slowly is refused with RequestTimeout, which is a 400.
  const passes = answer.status >= 500 || answer.status === 429 || answer.status === 408 || code === 'RequestTimeout'
  const canBeMended = answer.status === 401 || answer.status === 403 || code === 'NoSuchBucket'
  const said = [answer.status, code, message].filter(Boolean).join(' ').replace(/\.$/, '')
  const why = code === null ? undefined : blame[code]
  return { words: why ? `${said}: ${why}` : said, isExplained: why !== undefined, passes, canBeMended }
}

/** fetch hides the reason in the cause of its error. */
function sayWhy({ message, cause }: Error): string {
  return cause instanceof Error && cause.message !== '' ? cause.message : message
}

/** The text of the first element of a name; the names of S3 do not repeat within each other, and have no attributes. */
export function readTag(xml: string, name: string): string | null {
  const [, text] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml) ?? []
  return (
    text?.replace(/&(amp|lt|gt|quot|apos|#\d{1,6}|#x[\da-f]{1,5});/gi, (_, entity: string) => readEntity(entity)) ??
    null
  )
}

function readEntity(entity: string): string {
  if (!entity.startsWith('#')) return entities[entity] ?? ''
  return String.fromCodePoint(/^#x/i.test(entity) ? Number.parseInt(entity.slice(2), 16) : Number(entity.slice(1)))
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
