// stable-diffusion.cpp's server: its own job API under /sdcpp/v1, whose jobs can be read after a crash; those of /v1/images/* cannot.
import type { Backend, UpstreamRef, Verdict } from '../backend.ts'
import { isObject, readId } from '../connection.ts'
import { completeInput } from '../media/media-input.ts'
import { toJsonBody } from '../media/multipart.ts'
import { decodeOutput } from '../media/outputs.ts'

/** stable-diffusion.cpp. */
export const sdServer: Backend = {
  kind: 'sd-server',
  properties: { task: { enum: ['image', 'video'] } },
  required: [],
  baseUrl: null,
  credentials: (token) => ({ authorization: `Bearer ${token}` }),
  free: true,
  blocks: () => false,
  prepare: completeInput,
  toKey: (_body, uuid) => uuid,
  async submit({ connection, spec, body, timeoutMs }) {
    const at = `/sdcpp/v1/${toMode(spec['task'])}`
    const { json } = await connection.submit({ method: 'POST', at, ...toJsonBody(body) }, { timeoutMs })
    return { id: readId(json, connection) }
  },
  async look({ connection }, ref) {
    // It forgets jobs after a while, and all of them when it restarts.
    const { status, json } = await connection.ask({ method: 'GET', at: toPath(ref) }, { also: [404, 410], large: true })
    return status >= 400 ? { state: 'gone' } : toVerdict(isObject(json) ? json : {}, connection.quote)
  },
  find: async () => 'absent',
  async cancel({ connection }, ref) {
    const question = { method: 'POST', at: `${toPath(ref)}/cancel` } as const
    const { status } = await connection.ask(question, { also: [400, 404, 409, 410] })
    return status >= 400 ? 'unknown' : 'canceled'
  },
  greeting: { at: '/sdcpp/v1/capabilities' },
  async unready({ connection, spec }) {
    const { json } = await connection.ask({ method: 'GET', at: '/sdcpp/v1/capabilities' })
    const modes = isObject(json) ? json['supported_modes'] : null
    const mode = toMode(spec['task'])
    return Array.isArray(modes) && !modes.includes(mode) ? `${connection.provider} does not offer ${mode}` : null
  },
}

function toMode(task: unknown): string {
  return task === 'video' ? 'vid_gen' : 'img_gen'
}

function toPath({ id }: UpstreamRef): string {
  return `/sdcpp/v1/jobs/${encodeURIComponent(id)}`
}

function toVerdict(job: Readonly<Record<string, unknown>>, quote: (words: unknown) => string): Verdict {
  const { status, result, error } = job
  switch (status) {
    case 'completed': {
      const made = isObject(result) ? result : {}
      const images = Array.isArray(made['images']) ? made['images'] : [made]
      const outputs = images.flatMap((image) => (isObject(image) ? decodeOutput(image['b64_json']) : []))
      return { state: 'succeeded', outputs, usage: {}, cost: null }
    }
    case 'failed':
      return { state: 'failed', message: quote(isObject(error) ? (error['message'] ?? error) : 'the run failed') }
    case 'cancelled':
      return { state: 'canceled' }
    default:
      return { state: 'waiting' }
  }
}
