// Replicate: predictions over its HTTP API (replicate.com/docs/reference/http). Its own client sends a paid POST up to six
// times, so this is ours.
import { digestParts, toCanonicalJson } from '@mediagen/engine/canonical-json.ts'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import type { Backend, UpstreamRef, Verdict } from '../backend.ts'
import { isObject, readId } from '../connection.ts'
import { completeInput } from '../media/media-input.ts'
import { toJsonBody } from '../media/multipart.ts'
import { findOutputs, toNumbers } from '../media/outputs.ts'
import type { RemoteSpec } from '../provider.ts'

// How far its clock and ours may differ.
const clockMs = 600_000
const mostPages = 5
// Replicate refuses shorter deadlines.
const leastCancelAfterSeconds = 5
// The run was interrupted through no fault of the input. Messages are no sign: a moderated run says “try again”, too, and was paid.
const mayPass = /\(code: PA\)/

/** Replicate. */
export const replicate: Backend = {
  kind: 'replicate',
  properties: { model: { type: 'string', pattern: '^[^/\\s]+/[^/:\\s]+(:[0-9a-f]{64})?$|^[0-9a-f]{64}$' } },
  required: ['model'],
  baseUrl: 'https://api.replicate.com/v1',
  credentials: (token) => ({ authorization: `Bearer ${token}` }),
  free: false,
  blocks: () => false,
  prepare: async (preparation) => ({ input: await completeInput(preparation) }),
  toKey: (body, uuid) => toDigest((body as JsonObject)['input']) ?? uuid,
  async submit({ connection, spec, body, timeoutMs, leftMs, webhook }) {
    const { at, version } = toEndpoint(spec)
    const events = webhook && { webhook, webhook_events_filter: ['start', 'completed'] }
    const { body: text, headers } = toJsonBody({ ...body, ...(version && { version }), ...events })
    const { json } = await connection.submit(
      {
        method: 'POST',
        at,
        body: text,
        headers: { ...headers, 'cancel-after': `${Math.max(leastCancelAfterSeconds, Math.ceil(leftMs / 1000))}s` },
      },
      { timeoutMs },
    )
    return { id: readId(json, connection) }
  },
  async look({ connection }, ref) {
    const { json } = await connection.ask({ method: 'GET', at: toPath(ref) }, { large: true })
    return toVerdict(json, connection.quote)
  },
  async find({ connection }, { key, sinceMs, knownId }) {
    if (knownId !== null) return [{ id: knownId }]
    const after = new Date(sinceMs - clockMs).toISOString()
    const found: UpstreamRef[] = []
    let at: string | null = `/predictions?created_after=${encodeURIComponent(after)}`
    for (let page = 0; at !== null && page < mostPages; page++) {
      const { json } = await connection.ask({ method: 'GET', at }, { large: true })
      const { results, next }: { results?: JsonValue; next?: JsonValue } = isObject(json) ? json : {}
      for (const one of Array.isArray(results) ? results : []) {
        if (isObject(one) && typeof one['id'] === 'string' && isObject(one['input']) && toDigest(one['input']) === key)
          found.push({ id: one['id'] })
      }
      const url: URL | null = typeof next === 'string' && next !== '' ? URL.parse(next, connection.toUrl(at)) : null
      at = url?.origin === connection.origin ? url.href : null
    }
    return found
  },
  async cancel({ connection }, ref) {
    const { status, json } = await connection.ask({ method: 'POST', at: `${toPath(ref)}/cancel` }, { also: [404] })
    if (status === 404) return 'unknown'
    const { state } = toVerdict(json, connection.quote)
    return state === 'succeeded' || state === 'failed' ? state : 'canceled'
  },
  greeting: { at: '/account', provesKey: true },
  async unready({ connection, spec }) {
    const name = String(spec['model']).split(':')[0] ?? ''
    const at = name.includes('/') ? `/models/${name}` : '/account'
    await connection.ask({ method: 'GET', at })
    return null
  },
}

function toEndpoint({ model }: RemoteSpec): { at: string; version: string | null } {
  const [name = '', version] = String(model).split(':')
  if (version !== undefined) return { at: '/predictions', version }
  return name.includes('/')
    ? { at: `/models/${name}/predictions`, version: null }
    : { at: '/predictions', version: name }
}

function toPath({ id }: UpstreamRef): string {
  return `/predictions/${encodeURIComponent(id)}`
}

/** Null for an input without a canonical form. */
function toDigest(input: unknown): string | null {
  const text = toCanonicalJson(input as JsonObject)
  return typeof text === 'string' ? digestParts(text) : null
}

function toVerdict(json: JsonValue, quote: (words: unknown) => string): Verdict {
  const { status, output, error, metrics } = isObject(json) ? json : {}
  const { predict_time: seconds } = toNumbers(metrics)
  const cost = seconds !== undefined ? { text: `${seconds} s`, amount: null, currency: null } : null
  switch (String(status)) {
    case 'succeeded':
      return { state: 'succeeded', outputs: findOutputs(output), usage: toNumbers(metrics), cost }
    case 'failed': {
      const message = quote(error ?? 'the run failed without a reason')
      return { state: 'failed', message, retryable: mayPass.test(message), cost }
    }
    case 'canceled':
    case 'aborted':
      return { state: 'canceled' }
    default:
      return { state: 'waiting' }
  }
}
