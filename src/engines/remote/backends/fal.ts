// fal: its queue over HTTP (docs.fal.ai/model-endpoints/queue). Its own client repeats submissions even when configured not to, so
// this is ours.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Backend, Place, UpstreamRef, Verdict } from '../backend.ts'
import { isObject, isUrl, NoVerdict, readId, toReason } from '../connection.ts'
import { completeInput } from '../media/media-input.ts'
import { toJsonBody } from '../media/multipart.ts'
import { findFiles, toNumbers } from '../media/outputs.ts'

const noRequest = '00000000-0000-0000-0000-000000000000'

const stillRuns = /\bstill in (progress|queue)\b/i

/** fal. */
export const fal: Backend = {
  kind: 'fal',
  properties: { model: { type: 'string', pattern: '^[^/\\s?#]+(/[^/\\s?#]+)+$' } },
  required: ['model'],
  baseUrl: 'https://queue.fal.run',
  credentials: (token) => ({ authorization: `Key ${token}` }),
  free: false,
  blocks: () => false,
  prepare: completeInput,
  // Only its webhook finds a request again.
  toKey: (_body, uuid) => uuid,
  async submit({ connection, spec, body, timeoutMs, webhook }) {
    const query = webhook === null ? '' : `?fal_webhook=${encodeURIComponent(webhook)}`
    const question = { method: 'POST', at: `/${String(spec['model'])}${query}`, ...toJsonBody(body) } as const
    const { json } = await connection.submit(question, { timeoutMs })
    const answer = isObject(json) ? json : {}
    const built = toRef({ connection, spec }, readId(json, connection, 'request_id'))
    // The path of a request is not always that of its model, so the URLs of the answer are used.
    for (const name of ['status', 'response', 'cancel'] as const) {
      const url = answer[`${name}_url`]
      if (isUrl(url) && new URL(url).origin === connection.origin) built[name] = url
    }
    return built
  },
  async look({ connection }, ref) {
    const { json } = await connection.ask({ method: 'GET', at: String(ref['status']) })
    const { status, error } = isObject(json) ? json : {}
    if (status === undefined && error)
      throw new NoVerdict(`${connection.provider} answered${toReason(json, connection)}`)
    if (status !== 'COMPLETED') return { state: 'waiting' }
    if (error) return { state: 'failed', message: connection.quote(error) }
    return readResult(connection, ref)
  },
  find: async (place, { knownId }) => (knownId === null ? [] : [toRef(place, knownId)]),
  async cancel({ connection }, ref) {
    const question = { method: 'PUT', at: String(ref['cancel']) } as const
    const { status, json } = await connection.ask(question, { also: [400, 404, 409] })
    const said = isObject(json) ? json['status'] : null
    if (said === 'ALREADY_COMPLETED') return 'succeeded'
    return status >= 400 || said === 'NOT_FOUND' ? 'unknown' : 'canceled'
  },
  // Asks for a request that does not exist. The answer is not documented, but a wrong key is refused first.
  greeting: { at: `/fal-ai/flux/requests/${noRequest}/status`, also: [400, 403, 404, 405, 422] },
  // No free question shows whether a key works.
  isReadyAsWhole: true,
  unready: async () => null,
}

async function readResult(connection: Place['connection'], ref: UpstreamRef): Promise<Verdict> {
  const { status, json, headers } = await connection.ask(
    { method: 'GET', at: String(ref['response']) },
    { also: [400, 404, 410, 413, 422], large: true },
  )
  const units = readUnits(headers['x-fal-billable-units'])
  const cost = units === null ? null : { text: `${units} units`, amount: units, currency: null }
  if (status >= 300) {
    const detail = isObject(json) ? (json['detail'] ?? json['error']) : null
    // The status may be ahead of the result.
    if (typeof detail === 'string' && stillRuns.test(detail)) return { state: 'waiting' }
    const first = Array.isArray(detail) && isObject(detail[0]) ? detail[0]['msg'] : detail
    return { state: 'failed', message: connection.quote(first ?? `the result cannot be had (${status})`), cost }
  }
  const usage = {
    ...toNumbers(isObject(json) ? json['timings'] : undefined),
    ...(units !== null && { billable_units: units }),
  }
  return { state: 'succeeded', outputs: findFiles(json), usage, cost }
}

/** The billed units; null if the header has no single number. */
function readUnits(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,15}(\.\d{1,15})?$/.test(header.trim()) ? Number(header) : null
}

function toRef({ connection, spec }: Place, id: string): UpstreamRef & JsonObject {
  const app = String(spec['model']).split('/').slice(0, 2).join('/')
  const at = connection.toUrl(`/${app}/requests/${encodeURIComponent(id)}`)
  return { id, status: `${at}/status`, response: at, cancel: `${at}/cancel` }
}
