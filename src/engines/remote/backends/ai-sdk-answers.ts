// Reads what models of the AI SDK made: files, usage, and what it cost.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Output, UpstreamRef, UpstreamResult, Verdict } from '../backend.ts'
import { type Connection, isObject, isUrl, PaidForNothing, readId, toReason, Unknown } from '../connection.ts'
import { toNumbers } from '../media/outputs.ts'
import { readCost, toTokenCost } from './ai-sdk-cost.ts'
import { type Made, noKey, type Status } from './ai-sdk-packages.ts'
import type { Wire } from './ai-sdk-wire.ts'

/**
 * Reads what `doGenerate` made.
 * @throws PaidForNothing
 */
export function toResult(
  { images = [], audio, usage, providerMetadata = {} }: Made,
  wire: Wire,
  connection: Connection,
): UpstreamResult {
  const [said] = Object.values(providerMetadata)
  const tokens = toNumbers({
    input_tokens: usage?.inputTokens ?? null,
    output_tokens: usage?.outputTokens ?? null,
    tokens: usage?.totalTokens ?? null,
  })
  const cost = readCost(said) ?? toTokenCost(tokens)
  const why = toReason(wire.answer()?.json ?? null, connection)
  const isText = /json|html|text\//.test(wire.answer()?.headers['content-type'] ?? '')
  if (audio !== undefined && (isText || audio.length === 0))
    throw new PaidForNothing(`answered without a sound${why}`, cost)
  const files: readonly (string | Uint8Array)[] = audio === undefined ? images : [audio]
  if (files.length === 0) {
    const reason = isObject(said) && said['finishReason'] ? ` (${String(said['finishReason'])})` : ''
    throw new PaidForNothing(`answered without a picture${reason || why}`, cost)
  }
  const outputs =
    wire.urls.length > 0 ? wire.urls.map((url) => ({ url })) : files.map((data) => ({ data: toBytes(data) }))
  return { outputs, usage: tokens, cost }
}

function toBytes(data: string | Uint8Array): Buffer {
  return typeof data === 'string' ? Buffer.from(data, 'base64') : Buffer.from(data)
}

/**
 * Reads what `doStart` began.
 * @throws Unknown if it cannot be asked for
 */
export function toStartedRef(operation: JsonObject, connection: Connection): UpstreamRef {
  const { pollingUrl } = operation
  if (pollingUrl !== undefined && !isUrl(pollingUrl))
    throw new Unknown(`${connection.provider} answered without a valid polling_url`)
  return { id: readId(operation, connection, 'requestId' in operation ? 'requestId' : 'operationName'), operation }
}

/**
 * Black Forest Labs answers a picture with a URL to poll, as others answer a film. Null if it does not.
 * @throws Unknown if it cannot be asked for
 */
export function toPolledRef(wire: Wire, connection: Connection): UpstreamRef | null {
  const json = wire.answer()?.json
  const { id, polling_url: pollingUrl, cost } = isObject(json) ? json : {}
  if (id === undefined || pollingUrl === undefined) return null
  return toStartedRef({ requestId: id, pollingUrl, cost: typeof cost === 'number' ? cost : null }, connection)
}

/** Reads what `doStatus` says. */
export function toVerdict(status: Status, quote: (words: unknown) => string): Verdict {
  if (status.status === 'pending') return { state: 'waiting' }
  // A new task may not be known everywhere yet, so it may not be found.
  if (status.status === 'error' && status.error.includes('"Task not found"')) return { state: 'waiting' }
  if (status.status === 'error') return { state: 'failed', message: quote(status.error) }
  const outputs = status.videos.flatMap(({ url, data }): Output[] =>
    data !== undefined ? [{ data: toBytes(data) }] : url === undefined ? [] : [{ url: withoutKey(url) }],
  )
  const [said] = Object.values(status.providerMetadata ?? {})
  return { state: 'succeeded', outputs, usage: {}, cost: readCost(said) }
}

/** Why Google shows no film; its package leaves that out. */
export function findReason(wire: Wire): unknown {
  const json = wire.answer()?.json
  const { response } = isObject(json) ? json : {}
  const made = isObject(response) ? response['generateVideoResponse'] : null
  return isObject(made) ? made['raiMediaFilteredReasons'] : null
}

/** Google’s package appends the key to the URL; the download sends the real one in a header. */
function withoutKey(url: string): string {
  return url.replace(new RegExp(`[?&]key=${noKey}$`), '')
}
