// Servers that speak OpenAI's API: pictures and speech in one answer, videos as jobs (openai-video.ts).
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
import type { Backend, FormPart, Preparation, Submission, UpstreamBody, UpstreamResult } from '../backend.ts'
import { type Answer, isObject, PaidForNothing, readId, toReason } from '../connection.ts'
import { completeInput, toContentType } from '../media/media-input.ts'
import { toJsonBody, toMultipart } from '../media/multipart.ts'
import { decodeOutput, toNumbers } from '../media/outputs.ts'
import type { RemoteSpec } from '../provider.ts'
import { cancelVideo, findVideos, lookAtVideo, toVideoKey } from './openai-video.ts'

const paths = {
  image: '/images/generations',
  edit: '/images/edits',
  speech: '/audio/speech',
  video: '/videos',
} as const

/** OpenAI and servers like it. */
export const openai: Backend = {
  kind: 'openai',
  properties: { task: { enum: Object.keys(paths) }, model: { type: 'string', minLength: 1 } },
  required: ['task', 'model'],
  baseUrl: 'https://api.openai.com/v1',
  credentials: (token) => ({ authorization: `Bearer ${token}` }),
  free: false,
  blocks: ({ task }) => task !== 'video',
  prepare: (preparation) => (isForm(preparation.spec) ? toForm(preparation) : toJson(preparation)),
  toKey: (body, uuid) => ('length' in body ? toVideoKey(body as readonly FormPart[]) : uuid),
  async submit(submission) {
    const answer = await send(submission)
    return submission.spec['task'] === 'video'
      ? { id: readId(answer.json, submission.connection) }
      : readFiles(submission, answer)
  },
  look: ({ connection }, ref) => lookAtVideo(connection, ref),
  find: async ({ connection, spec }, note) => (spec['task'] === 'video' ? findVideos(connection, note) : []),
  cancel: ({ connection }, ref) => cancelVideo(connection, ref),
  greeting: { at: '/models', also: [403, 404, 405, 501], provesKey: true },
  isReadyAsWhole: true,
  async unready({ connection }) {
    // Some servers have no such route, and answer all the same.
    await connection.ask({ method: 'GET', at: '/models' }, { also: [403, 404, 405, 501], large: true })
    return null
  },
}

function isForm({ task }: RemoteSpec): boolean {
  return task === 'edit' || task === 'video'
}

async function toJson(preparation: Preparation): Promise<JsonObject> {
  const { spec } = preparation
  return { ...askForBytes(spec), model: String(spec['model']), ...(await completeInput(preparation)) }
}

/** Some servers answer URLs unless `response_format` is sent; the GPT image models refuse it, and never answer URLs. */
function askForBytes({ task, model }: RemoteSpec): JsonObject {
  return (task === 'image' || task === 'edit') && !/^(gpt-image|chatgpt-image)/.test(String(model))
    ? { response_format: 'b64_json' }
    : {}
}

/** Every field as a part: files as files, everything else as text. */
async function toForm(preparation: Preparation): Promise<FormPart[]> {
  const { spec, run } = preparation
  const media = await run.media()
  const fields = { ...askForBytes(spec), model: String(spec['model']), ...run.input, ...spec.defaults }
  const parts: FormPart[] = []
  for (const [field, value] of Object.entries(fields) as [string, JsonValue][]) {
    const files = [...media].filter(([pointer]) => pointer === `/${field}` || pointer.startsWith(`/${field}/`))
    // Several pictures are sent as a list, as OpenAI has it.
    const name = files.length > 1 ? `${field}[]` : field
    for (const [, path] of files)
      parts.push({ name, file: await readFile(path), fileName: basename(path), contentType: toContentType(path) })
    if (files.length === 0 && value !== null)
      parts.push({ name, value: typeof value === 'object' ? JSON.stringify(value) : String(value) })
  }
  return parts
}

async function send({ connection, spec, body, timeoutMs, signal }: Submission): Promise<Answer> {
  const at = paths[spec['task'] as keyof typeof paths]
  const question = { method: 'POST', at, ...toBody(body), ...(signal && { signal }) } as const
  return connection.submit(question, { timeoutMs, large: spec['task'] !== 'video' })
}

function toBody(body: UpstreamBody): { body: string | Uint8Array; headers: Record<string, string> } {
  return Array.isArray(body) ? toMultipart(body as readonly FormPart[]) : toJsonBody(body)
}

function readFiles({ spec, connection }: Submission, answer: Answer): UpstreamResult {
  const kind = answer.headers['content-type'] ?? ''
  if (spec['task'] === 'speech') {
    if (answer.body.length === 0 || /json|html|text\//.test(kind))
      throw new PaidForNothing(`answered without a sound${toReason(answer.json, connection)}`)
    return { outputs: [{ data: answer.body }], usage: {}, cost: null }
  }
  const { data, usage }: { data?: JsonValue; usage?: JsonValue } = isObject(answer.json) ? answer.json : {}
  const outputs = (Array.isArray(data) ? data : []).flatMap((one) => {
    if (!isObject(one)) return []
    return typeof one['url'] === 'string' && !one['b64_json'] ? [{ url: one['url'] }] : decodeOutput(one['b64_json'])
  })
  const { total_tokens: tokens, ...numbers } = toNumbers(usage)
  const cost = tokens === undefined ? null : { text: `${tokens} tokens`, amount: null, currency: null }
  if (outputs.length === 0)
    throw new PaidForNothing(`answered without a picture${toReason(answer.json, connection)}`, cost)
  return {
    outputs,
    usage: { ...numbers, ...(tokens !== undefined && { tokens }) },
    cost,
  }
}
