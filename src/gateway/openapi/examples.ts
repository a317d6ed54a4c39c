// An example of each request and each answer. test/gateway/openapi.test.ts holds them against their schemas.

type Example = Readonly<Record<string, unknown>>

const server = 'https://media.example'
const keyId = 'key_01m81n2zt7e0081c5yz0j3m1gq'
const keyName = 'print shop'
const jobId = 'job_01m81n3ztpe00amzr9bbqb9r65'
const model = 'builtin/image/art/text-to-image'
const quoteId =
  'quote_AQAAAAE_8AAAAAAAAEJ6IDW42AAA_PuXVVhWqIFOyi3k-TZ-sQW4UCzoqUvg9TQ0MnKytDUfuaZ86sWJXGJ1aWx0aW4vaW1hZ2UvYXJ0L3RleHQtdG8taW1hZ2WauQ-CNfyLjwg2hYqKD3nn'
const input = { prompt: 'aurora over the sea' }
const createdAt = '2026-11-22T12:53:55.158Z'
const startedAt = '2026-11-22T12:53:55.163Z'
const finishedAt = '2026-11-22T12:53:57.442Z'
const sha256 = '4abe58c73881dcf70fc3ba917bb20537a4e2bf4ce320679bf29843dec1eec004'

const queuedJob = {
  job_id: jobId,
  status: 'queued',
  model,
  quote_id: quoteId,
  progress: 0,
  credits: 1,
  billing: { quoted: 1, held: 1, charged: 0, released: 0 },
  outputs: [] as readonly Example[],
  error: null as Example | null,
  attempts: 0,
  created_at: createdAt,
  started_at: null as string | null,
  finished_at: null as string | null,
  queue_position: 1 as number | null,
  preview_url: null,
  served_by: null,
  input: input as Example | null,
  deleted_at: null,
  key_id: keyId,
  key_name: keyName,
  labels: { team: 'ads', campaign: '42' },
  receipt: null as Example | null,
  reproduction: null as Example | null,
}
const runningJob = {
  ...queuedJob,
  status: 'running',
  progress: 0.5,
  attempts: 1,
  started_at: startedAt,
  queue_position: null,
}
const succeededJob = {
  ...runningJob,
  status: 'succeeded',
  progress: 1,
  billing: { quoted: 1, held: 1, charged: 1, released: 0 },
  outputs: [
    {
      url: `${server}/assets/${jobId}/0.png?expires=1795438800&signature=1.NxXuyoEvB7LsaII3aQUNvA`,
      content_type: 'image/png',
      bytes: 1_517_477,
      width: 1280,
      height: 800,
      duration_seconds: null,
      sha256,
      expires_at: '2026-11-23T13:00:00.000Z',
      preview_url: `${server}/assets/${jobId}/0.preview.webp?expires=1795438800&signature=1.AJkxEKsAk0veicbBqdRTlg`,
      blurhash: 'LRP=_wRQD+WB~oRjbIt7TK%Lt6fk',
      expired: false,
      kept_until: '2026-11-29T12:53:57.442Z',
      provenance: {
        signed: false,
        verified: null,
        issuer: null,
        generator: null,
        actions: [],
        source_type: null,
        problem: null,
      },
    },
  ],
  finished_at: finishedAt,
  receipt: { held: 1, charged: 1, released: 0, quote_id: quoteId, key_id: keyId } as Example,
}

const endings: Readonly<Record<string, Example>> = {
  failed: { code: 'invalid_media', message: 'The image could not be fetched: it is not a picture.', retryable: false },
  canceled: { code: 'canceled', message: 'Its owner canceled it.', retryable: false },
  expired: { code: 'expired', message: 'Its deadline passed before it began.', retryable: true },
  needs_review: { code: 'outcome_unknown', message: 'Nobody knows whether the run ended well.', retryable: false },
}

/** The record of a job that ended so. */
export function endedJob(status: string): typeof queuedJob {
  const error = endings[status]
  if (!error) return succeededJob
  const released = status === 'needs_review' ? 0 : 1
  const billing = { quoted: 1, held: 1, charged: 0, released }
  const unstarted = status === 'expired' ? { started_at: null, attempts: 0, progress: 0 } : {}
  const receipt = released === 0 ? null : { held: 1, charged: 0, released, quote_id: quoteId, key_id: keyId }
  return {
    ...runningJob,
    status,
    credits: 1 - released,
    billing,
    receipt,
    error,
    finished_at: finishedAt,
    ...unstarted,
  }
}

const sample = {
  title: 'aurora over the sea',
  url: 'https://media.example/samples/3b1f9c06d2a84e7750c1e2f3a4b5c6d7.webp',
  content_type: 'image/webp',
  width: 640,
  height: 480,
  duration_seconds: null,
  preview_url: null,
  input: null,
}
const modelEntry = {
  id: model,
  object: 'model',
  created: 1_795_132_800,
  owned_by: 'mediagen',
  name: 'Art',
  description: 'Paints an abstract picture or a landscape from a prompt.',
  category: 'text-to-image',
  product: 'builtin/image/art',
  mode: 'text-to-image',
  modality: 'image',
  pricing: { billing: 'fixed', summary: '1 credit', from_credits: 1 },
  samples: [sample],
  version: null,
  released: null,
  shutdown_date: null,
  replaced_by: null,
}
const inputSchema = {
  type: 'object',
  required: ['prompt'],
  properties: { prompt: { type: 'string', minLength: 1, description: 'What to paint.' } },
}
const modelDocument = {
  openapi: '3.1.1',
  info: { title: 'Art', version: '2026-11-20' },
  paths: {
    [`/${model}`]: {
      post: { requestBody: { required: true, content: { 'application/json': { schema: inputSchema } } } },
    },
  },
}
const entry = {
  entry_id: 'entry_01m81n4222e00a5n35fcc6r5vw',
  kind: 'charge',
  credits: 1,
  job_id: jobId,
  available_after: 999,
  held_after: 0,
  note: null,
  created_at: finishedAt,
  key_id: keyId,
  key_name: keyName,
  reference: null,
  hash: '82d93845d56a5b046b1aae2b64a773ade56b06c48cc7bf497f6a30b14ac27fc0',
  previous_hash: '1d2c3b4a59687786950a4b3c2d1e0f9f8e7d6c5b4a39281706f5e4d3c2b1a091',
}
const noLimits = {
  per_start: null,
  daily: null,
  weekly: null,
  monthly: null,
  total: null,
  models: [],
  origins: [],
  extra: null,
}
const account = {
  account_id: 'acct_01m81n2zq4e00bq0s1x9nd8h4m',
  name: 'Press office',
  created_at: createdAt,
  key: {
    key_id: keyId,
    name: keyName,
    prefix: 'mgk_3fQz',
    permissions: ['generate', 'models:read', 'jobs:read', 'wallet:read'],
    created_at: createdAt,
    last_used_at: finishedAt,
    expires_at: null,
    revoked_at: null,
    limits: noLimits,
    made_by: null,
  },
  limits: {
    requests_per_second: 50,
    request_bytes_per_second: 2_097_152,
    request_bytes: 1_048_576,
    queued_jobs: 1000,
    open_watches: 500,
    upload_bytes: 104_857_600,
    stored_upload_bytes: 5_368_709_120,
    webhooks: 10,
    quote_seconds: 600,
    wait_seconds: 180,
    retain_seconds: 604_800,
  },
}
const dailyLimit = {
  of: 'key',
  limit: 'daily',
  credits: 200,
  held: 1,
  charged: 40,
  left: 159,
  starts_at: '2026-11-22T00:00:00.000Z',
  renews_at: '2026-11-23T00:00:00.000Z',
}
const madeKey = {
  ...account.key,
  key_id: 'key_01m81n5b2pe00b8d1m4q7x0zsn',
  name: 'visitor 17',
  prefix: 'mgk_7TsW',
  permissions: ['generate', 'jobs:read'],
  last_used_at: null,
  limits: { ...noLimits, total: 30, origins: ['https://shop.example'] },
  made_by: keyId,
  unmatched_models: [],
}
const webhook = {
  webhook_id: 'wh_01m81n4sg6e009ehdb3x9q6c7r',
  url: 'https://example.com/hooks',
  description: 'production',
  created_at: createdAt,
  disabled_at: null,
  include_input: false,
}
const delivery = {
  delivery_id: 'dlv_4a7a2b0f6d0e4a0f',
  webhook_id: webhook.webhook_id,
  url: 'https://example.com/hooks',
  job_id: jobId,
  type: 'job.succeeded',
  status: 'delivered',
  attempts: [{ attempted_at: finishedAt, response_status: 204, error: null, duration_seconds: 0.127 }],
  error: null,
  next_attempt_at: null,
  created_at: finishedAt,
  finished_at: '2026-11-22T12:53:57.601Z',
}
const file = {
  file_id: 'file_01m81n4shze009c49bjf67542h',
  url: `${server}/assets/file_01m81n4shze009c49bjf67542h/0.png?expires=1795956861&signature=1.IS1_zN6MZfJTtDBk42Lmgg`,
  content_type: 'image/png',
  bytes: 1_517_477,
  sha256,
  created_at: createdAt,
  expires_at: '2026-11-29T12:53:55.000Z',
}
const events = [runningJob, succeededJob].map(
  (job, index) => `id: ${index + 2}\nevent: job\ndata: ${JSON.stringify(job)}\n\n`,
)

const voice = { id: 'clara', name: 'Clara' }

function listOf(item: Example): Example {
  return { object: 'list', data: [item], total: 1, limit: 100, offset: 0, has_more: false }
}

/** What requests send, by the id of their operation. */
/** Of requests, by their operation. */
export const bodies: Readonly<Record<string, unknown>> = {
  createQuote: { model, input },
  startGeneration: { model, input, quote_id: quoteId },
  run: { model, input, max_credits: 5 },
  createImage: { model: 'gpt-image-1', prompt: input.prompt, size: '1024x1024', max_credits: 5 },
  editImage: { model: 'gpt-image-1', prompt: 'make it night', image: file.file_id, max_credits: 5 },
  createSpeech: { model: 'tts-1', input: 'The kettle is on.', voice: 'alloy', max_credits: 5 },
  createWebhook: { url: webhook.url, description: webhook.description },
  createOwnKey: {
    permissions: madeKey.permissions,
    name: madeKey.name,
    limits: { total: 30, origins: madeKey.limits.origins },
  },
  changeOwnKeyLimits: { limits: { daily: 20, total: null } },
}

const images = {
  created: 1_795_438_435,
  data: [{ b64_json: 'iVBORw0KGgo=' }],
  background: 'auto',
  output_format: 'png',
  quality: 'auto',
  size: '1024x1024',
  usage: {
    input_tokens: 0,
    input_tokens_details: { text_tokens: 0, image_tokens: 0 },
    output_tokens: 0,
    total_tokens: 0,
  },
}

/** What is answered, by the id of the operation and, where they differ, by the status. */
/** Of answers, by their operation, and their status where one differs from another. */
export const answers: Readonly<Record<string, unknown>> = {
  createQuote: { quote_id: quoteId, model, credits: 1, expires_at: '2026-11-22T13:03:55.158Z' },
  'startGeneration 200': succeededJob,
  'startGeneration 202': queuedJob,
  'run 200': succeededJob,
  'run 202': queuedJob,
  createImage: images,
  editImage: images,
  createSpeech: '',
  listVoices: { object: 'list', data: [voice], voices: [voice] },
  listModels: listOf(modelEntry),
  listCategories: listOf({ id: 'text-to-image', name: 'Text to image', modality: 'image', count: 2 }),
  getModel: {
    ...modelEntry,
    samples: [{ ...sample, input: { prompt: 'aurora over the sea', width: 640, height: 480 } }],
    unready_reason: null,
    openapi: modelDocument,
  },
  listJobs: listOf(succeededJob),
  getJob: {
    ...succeededJob,
    reproduction: {
      input: { ...input, width: 1280, height: 720, style: 'auto', palette: 'auto', format: 'png' },
      seed: null,
      version: '0.1.0',
      engine: 'builtin',
      provider_model: null,
      not_guaranteed: [],
    },
  },
  cancelJob: endedJob('canceled'),
  watchJob: `retry: 2000\n\n${events.join('')}`,
  getWallet: { available: 999, held: 0 },
  listEntries: listOf(entry),
  getUsage: {
    ...listOf({
      day: '2026-11-27',
      model: null,
      key_id: null,
      key_name: null,
      labels: { team: 'ads' },
      jobs: 12,
      succeeded: 11,
      charged: 340,
      cost: { amount: '3.40', currency: 'EUR' },
    }),
    sum: { jobs: 12, succeeded: 11, charged: 340, cost: { amount: '3.40', currency: 'EUR' } },
    from: '2026-11-01',
    to: '2026-11-30',
    time_zone: 'UTC',
  },
  getAccount: account,
  listOwnKeys: listOf(account.key),
  getOwnKey: { ...account.key, limits: { ...noLimits, daily: 200 }, left: [dailyLimit], time_zone: 'UTC' },
  createOwnKey: { key: 'mgk_7TsWc0Vb3mJ9xQ2dLr5Kp8NfYh1GzEa4RtUo6SiXwBq', ...madeKey },
  changeOwnKeyLimits: { ...madeKey, limits: { ...madeKey.limits, daily: 20, total: null } },
  revokeOwnKey: { ...account.key, revoked_at: finishedAt },
  listWebhooks: listOf(webhook),
  createWebhook: { ...webhook, secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' },
  getWebhook: webhook,
  rotateWebhookSecret: {
    ...webhook,
    secret: 'whsec_mWnSbuDgKJjYvd0cUkT8Jq1aBr6fQhXe',
    previous_secret_until: '2026-11-23T12:53:55.158Z',
  },
  testWebhook: { message_id: 'test_6f1c6a52f0d84d5c9a1b8d3b6a0e7c42', attempt: delivery.attempts[0] },
  listDeliveries: listOf(delivery),
  redeliverOwnDelivery: {
    ...delivery,
    status: 'pending',
    next_attempt_at: '2026-11-22T13:02:10.040Z',
    finished_at: null,
  },
  listFiles: listOf(file),
  uploadFile: file,
  getFile: file,
  getHealth: { status: 'ok' },
  'getReadiness 200': { status: 'ready' },
  'getReadiness 503': { status: 'not ready', reason: 'The server is stopping.' },
  getMetrics: 'mediagen_rpc_total{rpc="QuotesService.CreateQuote",code="ok"} 2\n',
  listProblems: '<!doctype html><title>Problems · mediagen</title>',
  getProblem: '<!doctype html><title>Quote expired · mediagen</title>',
  getOpenapi: { openapi: '3.1.1', info: { title: 'mediagen', version: '1' }, paths: {} },
}

const parameters: Readonly<Record<string, string>> = {
  model,
  job_id: jobId,
  webhook_id: webhook.webhook_id,
  delivery_id: delivery.delivery_id,
  file_id: file.file_id,
  key_id: madeKey.key_id,
  code: 'quote_expired',
  key: `${jobId}/0.png`,
  expires: '1795438800',
  signature: '1.NxXuyoEvB7LsaII3aQUNvA',
  name: 'art-1.3f9c2d.webp',
  'Idempotency-Key': 'aurora-1',
}

/** The example of a parameter. */
export function exampleOfParameter(name: string): { example?: string } {
  const example = parameters[name]
  return example === undefined ? {} : { example }
}
