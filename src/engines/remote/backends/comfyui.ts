// ComfyUI: a workflow in API format with fields of the input put into it. The id of a run is ours; the same id twice runs twice.
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { JsonObject, JsonValue, UpstreamVerdict } from '@mediagen/engine/engine.ts'
import type { Backend, Place, Preparation, UpstreamRef, Verdict } from '../backend.ts'
import { type Connection, isObject, NoVerdict, toReason, Unknown } from '../connection.ts'
import { completeInput, setPointer, toContentType } from '../media/media-input.ts'
import { toJsonBody, toMultipart } from '../media/multipart.ts'
import type { RemoteSpec } from '../provider.ts'
import { toVerdict } from './comfyui-outputs.ts'
import { watchRun } from './comfyui-watch.ts'

/** ComfyUI. */
export const comfyui: Backend = {
  kind: 'comfyui',
  properties: {
    workflow: { type: 'string', minLength: 1 },
    inputs: { type: 'object', additionalProperties: { type: 'string', pattern: '^/' } },
  },
  required: ['workflow'],
  baseUrl: null,
  credentials: (token) => ({ authorization: `Bearer ${token}` }),
  free: true,
  blocks: () => false,
  findFault,
  prepare,
  toKey: (_body, uuid) => uuid,
  async submit({ connection, body, key, timeoutMs }) {
    const question = { method: 'POST', at: '/prompt', ...toJsonBody(body) } as const
    const { json } = await connection.submit(question, { timeoutMs, reason: findReason })
    if (!isObject(json) || json['prompt_id'] !== key)
      throw new Unknown(`${connection.provider} answered without the id of the run${toReason(json, connection)}`)
    return { id: key }
  },
  watch: ({ spec, connection }, ref, run) => watchRun(connection, ref, countNodes(spec), run),
  look: ({ connection }, ref) => look(connection, ref),
  async find({ connection }, { key }) {
    const { state } = await look(connection, { id: key })
    return state === 'gone' ? 'absent' : [{ id: key }]
  },
  cancel,
  greeting: { at: '/system_stats' },
  async unready({ connection, spec }) {
    await connection.ask({ method: 'GET', at: '/system_stats' })
    const types = [
      ...new Set(Object.values(readWorkflow(spec)).map((node) => String((node as JsonObject)['class_type']))),
    ]
    const has = await Promise.all(types.map((type) => hasNode(connection, type)))
    const missing = types.filter((_, index) => !has[index])
    if (missing.length === 0) return null
    return `${connection.provider} lacks nodes of the workflow ${String(spec['workflow'])}: ${connection.quote(missing.join(', '))}`
  },
}

/** A server says nothing of a node that it lacks. What cannot be asked counts as there. */
async function hasNode(connection: Connection, type: string): Promise<boolean> {
  const question = { method: 'GET', at: `/object_info/${encodeURIComponent(type)}` } as const
  const { json } = await connection.ask(question, { also: [403, 404, 405] })
  return !isObject(json) || Object.keys(json).length > 0
}

/** A map from fields of the input to places in the workflow; without one, nothing is put in. */
function toSlots({ inputs }: RemoteSpec): [field: string, pointer: string][] {
  return Object.entries((inputs ?? {}) as Record<string, string>)
}

function readWorkflow({ base_folder, workflow }: RemoteSpec): JsonObject {
  return JSON.parse(readFileSync(join(base_folder, String(workflow)), 'utf8')) as JsonObject
}

/** As many as can be read: progress is only a picture of it. */
function countNodes(spec: RemoteSpec): number {
  try {
    return Object.keys(readWorkflow(spec)).length
  } catch {
    return 0
  }
}

function findFault(spec: RemoteSpec): { field: string; words: string } | null {
  let workflow: JsonObject
  try {
    workflow = readWorkflow(spec)
  } catch (error) {
    return {
      field: 'workflow',
      words: `names ${String(spec['workflow'])}, which cannot be read: ${(error as Error).message}`,
    }
  }
  const isNode = (node: JsonValue): boolean => isObject(node) && typeof node['class_type'] === 'string'
  if (!isObject(workflow) || !Object.values(workflow).every(isNode))
    return { field: 'workflow', words: 'must be a workflow in API format ("Export (API)" in ComfyUI)' }
  for (const [field, pointer] of toSlots(spec))
    if (!setPointer(workflow, pointer, null))
      return { field: `inputs.${field}`, words: `points to ${pointer}, which the workflow does not have` }
  return null
}

async function prepare(preparation: Preparation): Promise<JsonObject> {
  const { spec, uuid, connection } = preparation
  const workflow = readWorkflow(spec)
  let files = 0
  const input = await completeInput(preparation, (path) =>
    upload(connection, path, `${uuid}-${files++}${extname(path)}`),
  )
  for (const [field, pointer] of toSlots(spec)) {
    const value = input[field]
    if (value !== undefined) setPointer(workflow, pointer, value)
  }
  // Equal workflows share the files of the first one unless their names differ.
  for (const node of Object.values(workflow)) {
    const inputs = isObject(node) ? (node['inputs'] as JsonObject) : {}
    if (typeof inputs['filename_prefix'] === 'string') inputs['filename_prefix'] = `mediagen/${uuid}`
  }
  return { prompt: workflow, prompt_id: uuid, client_id: uuid }
}

/** Uploads a file, and returns its name for the nodes that load it. */
async function upload(connection: Connection, path: string, name: string): Promise<string> {
  const file = { name: 'image', file: await readFile(path), fileName: name, contentType: toContentType(path) }
  const parts = [file, { name: 'subfolder', value: 'mediagen' }, { name: 'overwrite', value: 'true' }]
  const { json } = await connection.ask({ method: 'POST', at: '/upload/image', ...toMultipart(parts) })
  const { name: stored, subfolder } = isObject(json) ? json : {}
  if (typeof stored !== 'string') throw new NoVerdict(`${connection.provider} did not say where it put a file`)
  return typeof subfolder === 'string' && subfolder !== '' ? `${subfolder}/${stored}` : stored
}

async function look(connection: Connection, { id }: UpstreamRef): Promise<Verdict> {
  const { status, json } = await connection.ask({ method: 'GET', at: `/api/jobs/${id}` }, { also: [404] })
  if (status !== 404) return toVerdict(isObject(json) ? json : {}, connection)
  // Servers before 0.3.70 or so have no such route.
  return isObject(json) && json['error'] === 'Job not found' ? { state: 'gone' } : lookInHistory(connection, id)
}

async function lookInHistory(connection: Connection, id: string): Promise<Verdict> {
  // In this order: what has left the queue by then is in the history.
  const { json: queue } = await connection.ask({ method: 'GET', at: '/queue' })
  const { json: history } = await connection.ask({ method: 'GET', at: `/history/${id}` })
  const entry = isObject(history) ? history[id] : undefined
  if (isObject(entry)) return toVerdict(entry, connection)
  const { queue_running: running, queue_pending: pending } = isObject(queue) ? queue : {}
  const isQueued = [running, pending].some(
    (list) => Array.isArray(list) && list.some((one) => Array.isArray(one) && one[1] === id),
  )
  return { state: isQueued ? 'waiting' : 'gone' }
}

async function cancel({ connection }: Place, ref: UpstreamRef): Promise<UpstreamVerdict> {
  const { id } = ref
  const { status } = await connection.ask({ method: 'POST', at: `/api/jobs/${id}/cancel` }, { also: [404, 405] })
  if (status >= 400) {
    await connection.ask({ method: 'POST', at: '/queue', ...toJsonBody({ delete: [id] }) })
    await connection.ask({ method: 'POST', at: '/interrupt', ...toJsonBody({ prompt_id: id }) })
  }
  const { state } = await look(connection, ref)
  return state === 'succeeded' || state === 'failed' ? state : 'canceled'
}

/** The first complaint about a node says more than the summary. */
function findReason(json: JsonValue): string | null {
  const { error, node_errors: nodes } = isObject(json) ? json : {}
  const [first] = isObject(nodes) ? Object.values(nodes) : []
  const [complaint] = isObject(first) && Array.isArray(first['errors']) ? first['errors'] : []
  const words = [error, complaint].flatMap((one) => (isObject(one) ? [one['message'], one['details']] : []))
  return words.filter((word) => typeof word === 'string' && word !== '').join('; ') || null
}
