// What providers publish of their interfaces, as far as we use them, in minimal schemas of our own: fakes are held to them in both
// directions. A request or an answer that keeps to none fails the test. OpenAI's own document: fakes/openai.ts.
//
// Looked up on 2026-11-22:
// - replicate: "Replicate HTTP API" 1.0.0-a1, OpenAPI at api.replicate.com/openapi.json (copy of April 2026)
// - fal: "Fal Queue API" 1.0.0, OpenAPI at fal.ai/api/openapi/queue/openapi.json, and fal.ai/docs/api-reference/inference-api
// - cog: the page on HTTP in the documentation of cog, and the OpenAPI document that its servers generate (August 2026)
// - sd-server: examples/server/api.md of stable-diffusion.cpp (August 2026)
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FakeAnswer, FakeRequest, FakeUpstream } from './fake.ts'
import {
  any,
  closed,
  object,
  type Operation,
  orNull,
  record,
  type Schema,
  text,
  time,
  url,
  whole,
} from './operation.ts'
import { blackForestLabs, elevenlabs, google, xai } from './published-ai-sdk.ts'

const prediction = record(
  {
    id: text,
    model: text,
    version: text,
    input: object,
    output: any,
    data_removed: { type: 'boolean' },
    error: orNull(text),
    status: { enum: ['starting', 'processing', 'succeeded', 'failed', 'canceled', 'aborted'] },
    created_at: time,
    urls: record({ web: url, get: url, cancel: url }, { stream: url }),
  },
  { logs: text, metrics: record({}, { total_time: { type: 'number' }, predict_time: { type: 'number' } }) },
)
const events = { type: 'array', items: { enum: ['start', 'output', 'logs', 'completed'] } }
const toPredict = { webhook: text, webhook_events_filter: events, stream: { type: 'boolean' } }
// At least five seconds; we send seconds.
const cancelAfter = { 'cancel-after': { type: 'string', pattern: '^([5-9]|[1-9][0-9]+)s$' } }

const replicate: readonly Operation[] = [
  {
    method: 'POST',
    path: /^\/v1\/models\/[^/]+\/[^/]+\/predictions$/,
    headers: record({}, cancelAfter),
    body: record({ input: object }, toPredict, closed),
    answers: { 200: prediction, 201: prediction, 202: prediction },
  },
  {
    method: 'POST',
    path: /^\/v1\/predictions$/,
    headers: record({}, cancelAfter),
    body: record({ version: text, input: object }, toPredict, closed),
    answers: { 201: prediction, 202: prediction },
  },
  {
    method: 'GET',
    path: /^\/v1\/predictions$/,
    query: record({}, { created_after: time, created_before: time, source: { enum: ['web'] }, cursor: text }, closed),
    answers: {
      200: record({}, { next: orNull(url), previous: orNull(url), results: { type: 'array', items: prediction } }),
    },
  },
  { method: 'GET', path: /^\/v1\/predictions\/[^/]+$/, answers: { 200: prediction } },
  { method: 'POST', path: /^\/v1\/predictions\/[^/]+\/cancel$/, answers: { 200: prediction } },
  { method: 'GET', path: /^\/v1\/account$/, answers: { 200: any } },
  { method: 'GET', path: /^\/v1\/models\/[^/]+\/[^/]+$/, answers: { 200: any } },
]

const queueUrls = { response_url: url, status_url: url, cancel_url: url }
const queueStatus = record(
  { status: { enum: ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED'] }, request_id: text },
  { ...queueUrls, queue_position: whole, metrics: object, error: text, error_type: text },
)
const cancelStatus = record({ status: { enum: ['OK', 'CANCELLATION_REQUESTED', 'ALREADY_COMPLETED', 'NOT_FOUND'] } })
const request = String.raw`^/[^/]+/[^/]+/requests/[^/]+`

const fal: readonly Operation[] = [
  {
    method: 'POST',
    path: /^\/[^/]+\/[^/]+(\/(?!requests\/)[^/]+)*$/,
    query: record({}, { fal_webhook: url }, closed),
    body: object,
    answers: { 200: record({ request_id: text, ...queueUrls }, { status: any, queue_position: whole }) },
  },
  {
    method: 'GET',
    path: new RegExp(`${request}/status$`),
    query: record({}, { logs: text }, closed),
    // 202 while it waits or runs.
    answers: { 200: queueStatus, 202: queueStatus },
  },
  { method: 'GET', path: new RegExp(`${request}$`), answers: { 200: object } },
  {
    method: 'PUT',
    path: new RegExp(`${request}/cancel$`),
    answers: { 200: cancelStatus, 202: cancelStatus, 400: cancelStatus },
  },
]

const cogEnd = { enum: ['succeeded', 'failed', 'canceled'] }
const invalid = record(
  {},
  { detail: { type: 'array', items: record({ loc: { type: 'array' }, msg: text, type: text }) } },
)

const cog: readonly Operation[] = [
  {
    method: 'PUT',
    path: /^\/predictions\/[^/]+$/,
    // Asynchronous answers may name paths inside the container.
    headers: { type: 'object', not: { required: ['prefer'] } },
    body: record({ input: object }, { id: text, webhook: text, webhook_events_filter: events }, closed),
    answers: {
      200: record(
        { status: cogEnd },
        { id: text, output: any, error: orNull(text), logs: text, metrics: orNull(object) },
      ),
      202: record({ status: { enum: ['starting', 'processing'] } }),
      422: invalid,
    },
  },
  { method: 'POST', path: /^\/predictions\/[^/]+\/cancel$/, answers: { 200: any } },
  {
    method: 'GET',
    path: /^\/health-check$/,
    answers: {
      200: record({ status: { enum: ['STARTING', 'READY', 'BUSY', 'SETUP_FAILED', 'DEFUNCT', 'UNHEALTHY'] } }),
    },
  },
]

const picture = orNull({ type: 'string', pattern: '^(data:[^,]*;base64,)?[A-Za-z0-9+/]+=*$' })
const sdJob = record({
  id: text,
  kind: { enum: ['img_gen', 'vid_gen'] },
  status: { enum: ['queued', 'generating', 'completed', 'failed', 'cancelled'] },
  created: whole,
  started: orNull(whole),
  completed: orNull(whole),
  queue_position: whole,
  result: orNull(
    record({}, { output_format: text, images: { type: 'array', items: record({ index: whole, b64_json: text }) } }),
  ),
  error: orNull(record({ code: text, message: text })),
})
const sdBody = record(
  {},
  {
    prompt: text,
    negative_prompt: text,
    width: whole,
    height: whole,
    seed: whole,
    batch_count: whole,
    video_frames: whole,
    fps: whole,
    output_format: text,
    sample_params: object,
    init_image: picture,
    mask_image: picture,
    end_image: picture,
    ref_images: { type: 'array', items: picture },
  },
)

const sdServer: readonly Operation[] = [
  {
    method: 'POST',
    path: /^\/sdcpp\/v1\/(img|vid)_gen$/,
    body: sdBody,
    answers: { 202: record({ id: text, kind: text, status: text, created: whole, poll_url: text }) },
  },
  { method: 'GET', path: /^\/sdcpp\/v1\/jobs\/[^/]+$/, answers: { 200: sdJob } },
  { method: 'POST', path: /^\/sdcpp\/v1\/jobs\/[^/]+\/cancel$/, answers: { 200: any } },
  {
    method: 'GET',
    path: /^\/sdcpp\/v1\/capabilities$/,
    answers: { 200: record({ supported_modes: { type: 'array', items: text } }) },
  },
]

const published = {
  replicate,
  fal,
  cog,
  'sd-server': sdServer,
  google,
  xai,
  'black-forest-labs': blackForestLabs,
  elevenlabs,
} as const

const ajv = new Ajv2020({ allErrors: true })
const compiled = new Map<Schema, ValidateFunction>()

/** What is wrong with a value; null if nothing is. */
function findFault(schema: Schema | undefined, value: unknown): string | null {
  if (!schema) return null
  const validate = compiled.get(schema) ?? ajv.compile(schema)
  compiled.set(schema, validate)
  return validate(value) ? null : ajv.errorsText(validate.errors)
}

/** What is wrong with an exchange by what its provider publishes; null if nothing is. */
export function checkPublished(
  kind: keyof typeof published,
  { method, path, query, headers, body, json }: FakeRequest,
  answer: FakeAnswer | null,
): string | null {
  const name = `${method} ${path}`
  const operation = published[kind].find((one) => one.method === method && one.path.test(path))
  if (!operation) return `${kind} publishes no ${name}`
  const fault =
    findFault(operation.query, Object.fromEntries(query)) ??
    findFault(operation.headers, headers) ??
    (operation.body ? findFault(operation.body, json) : body.length > 0 ? 'it has a body' : null)
  if (fault) return `a request that ${kind} does not take, ${name}: ${fault}`
  if (!answer) return null
  const { status } = answer
  const schema = operation.answers[status]
  if (!schema && status < 400) return `${kind} answers no ${status} to ${name}`
  const wrong = findFault(schema, answer.json)
  return wrong && `an answer that ${kind} does not give, ${status} to ${name}: ${wrong}`
}

/** Holds a fake to what its provider publishes: it throws where it or its client does not keep to that. */
export function keepToPublished<Fake extends FakeUpstream>(kind: keyof typeof published, fake: Fake): Fake {
  const answerAny = fake.answer.bind(fake)
  return Object.assign(fake, {
    answer(asked: FakeRequest): FakeAnswer | Promise<FakeAnswer> {
      // Files are elsewhere.
      if (/^\/(files|delivery)\//.test(asked.path)) return answerAny(asked)
      const fault = checkPublished(kind, asked, null)
      if (fault) throw new Error(fault)
      const check = (answer: FakeAnswer): FakeAnswer => {
        const wrong = checkPublished(kind, asked, answer)
        if (wrong) throw new Error(wrong)
        return answer
      }
      const answer = answerAny(asked)
      return answer instanceof Promise ? answer.then(check) : check(answer)
    },
  })
}
