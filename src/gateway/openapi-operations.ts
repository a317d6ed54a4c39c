// The operations of the REST interface in the OpenAPI document, one entry per route.
import type { ErrorCode } from '../core/errors.ts'
import * as schemas from './schemas.ts'

const page = [
  query('limit', { type: 'integer', minimum: 1, maximum: 500, default: 100 }, 'Page size.'),
  query('offset', { type: 'integer', minimum: 0, default: 0 }, 'Number of items to skip.'),
]

/** One route with one method. */
export interface Operation {
  readonly id: string
  readonly summary: string
  /** Null if no key is needed. */
  readonly permission: string | null
  readonly parameters?: readonly object[]
  readonly body?: object
  /** The content of a body that is not JSON. */
  readonly content?: object
  /** By status. */
  readonly answers: Readonly<Record<string, object>>
  /** Codes in addition to those of every route with a key. */
  readonly errors?: readonly ErrorCode[]
}

/** Operations that need a key. */
export const operations: Readonly<Record<string, Operation>> = {
  'POST /v1/quotes': {
    id: 'createQuote',
    summary: 'Price one input for one model. Nothing is charged.',
    permission: 'generate',
    body: schemas.quoteBodySchema,
    answers: { 200: answer('The quote.', 'Quote') },
    errors: [
      'invalid_input',
      'model_not_found',
      'request_timeout',
      'payload_too_large',
      'unsupported_media_type',
      'model_unavailable',
    ],
  },
  'POST /v1/generate': {
    id: 'startGeneration',
    summary: 'Hold the quoted credits and start the generation.',
    permission: 'generate',
    parameters: [
      {
        name: 'Idempotency-Key',
        in: 'header',
        required: true,
        description: 'A unique value for each intended generation; send the same value when you repeat the request.',
        schema: { type: 'string', minLength: 1, maxLength: 255 },
      },
      query(
        'wait',
        { type: 'boolean', default: false },
        'Answer once the job is terminal or after about three minutes, whichever comes first.',
      ),
      {
        name: 'Cancel-After',
        in: 'header',
        description:
          'Deadline of the job, in seconds or as a time such as 90s, 5m, 1h30m, at most seven days. A job that passes it ends as expired if it has not begun, else as canceled; nothing is charged.',
        schema: { type: 'string', examples: ['300', '5m'] },
      },
      {
        name: 'Retain-For',
        in: 'header',
        description:
          'How long the outputs are kept after the job ends, in seconds or as a time such as 90s, 5m, 1h30m, 3d. The default is also the maximum: the retention of the server.',
        schema: { type: 'string', examples: ['3600', '1h'] },
      },
      {
        name: 'Mediagen-Priority',
        in: 'header',
        description: 'A job with a lower priority waits for all other jobs of its model.',
        schema: { type: 'integer', minimum: -10, maximum: 0, default: 0 },
      },
    ],
    body: schemas.generateBodySchema,
    answers: {
      200: answer('The job has ended.', 'Job'),
      202: answer('The job is still active; Location says where to read it.', 'Job'),
    },
    errors: [
      'idempotency_key_required',
      'idempotency_key_invalid',
      'idempotency_key_reused',
      'model_not_found',
      'quote_not_found',
      'quote_expired',
      'quote_mismatch',
      'invalid_input',
      'insufficient_credits',
      'request_timeout',
      'payload_too_large',
      'unsupported_media_type',
      'too_many_jobs',
      'model_unavailable',
    ],
  },
  'GET /v1/models': {
    id: 'listModels',
    summary: 'List models that are ready to use, in catalog order.',
    permission: 'models:read',
    parameters: [
      query('search', { type: 'string' }, 'Matches the name, the description or the model id.'),
      query('category', { type: 'string' }, 'Filters by task, for example text-to-image.'),
      query(
        'grouped',
        { type: 'boolean', default: false },
        'One entry per product with its modes instead of one per model id.',
      ),
      ...page,
    ],
    answers: {
      200: {
        description: 'A page of models, or of products when grouped.',
        content: json({ oneOf: [ref('ModelList'), ref('ProductList')] }),
      },
    },
  },
  'GET /v1/models/categories': {
    id: 'listCategories',
    summary: 'List the task categories present in the catalog.',
    permission: 'any',
    answers: { 200: answer('The categories.', 'CategoryList') },
  },
  'GET /v1/models/{model}': {
    id: 'getModel',
    summary: "Read a model's details and its input schema.",
    permission: 'models:read',
    parameters: [pathParameter('model', 'Model id, in the path as it is, slashes included.')],
    answers: { 200: answer('The model.', 'ModelDetail') },
    errors: ['model_not_found'],
  },
  'GET /v1/jobs': {
    id: 'listJobs',
    summary: "List the account's jobs, newest first.",
    permission: 'jobs:read',
    parameters: [
      query('status', schemas.jobSchema.properties.status, 'Only jobs in this state.'),
      query('model', { type: 'string' }, 'Only jobs of this model.'),
      query('idempotency_key', { type: 'string' }, 'Only the job started with this key.'),
      ...page,
    ],
    answers: { 200: answer('A page of jobs.', 'JobList') },
  },
  'GET /v1/jobs/{job_id}': {
    id: 'getJob',
    summary: 'Read a job.',
    permission: 'jobs:read',
    parameters: [pathParameter('job_id', 'Job id.')],
    answers: { 200: answer('The job.', 'Job') },
    errors: ['job_not_found'],
  },
  'POST /v1/jobs/{job_id}/cancel': {
    id: 'cancelJob',
    summary: 'Ask to cancel a job. A terminal job is left as it is.',
    permission: 'generate',
    parameters: [pathParameter('job_id', 'Job id.')],
    answers: { 200: answer('The job.', 'Job') },
    errors: ['job_not_found'],
  },
  'GET /v1/jobs/{job_id}/events': {
    id: 'watchJob',
    summary:
      'Watch a job: a server-sent event `job` with the job record for each change. The stream ends after the terminal one.',
    permission: 'jobs:read',
    parameters: [
      pathParameter('job_id', 'Job id.'),
      { name: 'Last-Event-ID', in: 'header', description: 'Id of the last event seen.', schema: { type: 'string' } },
    ],
    answers: { 200: { description: 'The events.', content: { 'text/event-stream': { schema: { type: 'string' } } } } },
    errors: ['job_not_found'],
  },
  'GET /v1/wallet': {
    id: 'getWallet',
    summary: 'Read the balance of the account.',
    permission: 'wallet:read',
    answers: { 200: answer('The balance.', 'Wallet') },
  },
  'GET /v1/wallet/entries': {
    id: 'listEntries',
    summary: 'List ledger entries, newest first.',
    permission: 'wallet:read',
    parameters: page,
    answers: { 200: answer('A page of entries.', 'EntryList') },
  },
  'GET /v1/webhooks': {
    id: 'listWebhooks',
    summary: 'List webhook endpoints, newest first.',
    permission: 'webhooks',
    parameters: page,
    answers: { 200: answer('A page of endpoints.', 'WebhookList') },
  },
  'POST /v1/webhooks': {
    id: 'createWebhook',
    summary: 'Register an endpoint that receives a signed webhook (standardwebhooks.com) when a job ends.',
    permission: 'webhooks',
    body: schemas.webhookBodySchema,
    answers: { 201: answer('The endpoint, with its secret, which is shown only this once.', 'CreatedWebhook') },
    errors: ['too_many_webhooks', 'request_timeout', 'payload_too_large', 'unsupported_media_type'],
  },
  'GET /v1/webhooks/{webhook_id}': {
    id: 'getWebhook',
    summary: 'Read a webhook endpoint, without its secret.',
    permission: 'webhooks',
    parameters: [pathParameter('webhook_id', 'Endpoint id.')],
    answers: { 200: answer('The endpoint.', 'Webhook') },
    errors: ['webhook_not_found'],
  },
  'DELETE /v1/webhooks/{webhook_id}': {
    id: 'deleteWebhook',
    summary: 'Delete a webhook endpoint. Its pending deliveries are dropped.',
    permission: 'webhooks',
    parameters: [pathParameter('webhook_id', 'Endpoint id.')],
    answers: { 204: { description: 'Deleted.' } },
    errors: ['webhook_not_found'],
  },
  'GET /v1/webhooks/{webhook_id}/deliveries': {
    id: 'listDeliveries',
    summary: 'List the deliveries to an endpoint with their attempts, newest first.',
    permission: 'webhooks',
    parameters: [
      pathParameter('webhook_id', 'Endpoint id.'),
      query('status', schemas.deliverySchema.properties.status, 'Only deliveries in this state.'),
      ...page,
    ],
    answers: { 200: answer('A page of deliveries.', 'DeliveryList') },
    errors: ['webhook_not_found'],
  },
  'GET /v1/files': {
    id: 'listFiles',
    summary: 'List uploads, newest first.',
    permission: 'generate',
    parameters: page,
    answers: { 200: answer('A page of uploads.', 'FileList') },
  },
  'POST /v1/files': {
    id: 'uploadFile',
    summary: 'Upload an image, a video or a sound to use as an input: the file itself, or a form with one file.',
    permission: 'generate',
    content: {
      'multipart/form-data': {
        schema: {
          type: 'object',
          additionalProperties: false,
          required: ['file'],
          properties: { file: { type: 'string', contentMediaType: 'application/octet-stream' } },
        },
      },
      ...Object.fromEntries(['image/*', 'video/*', 'audio/*', 'application/octet-stream'].map((type) => [type, {}])),
    },
    answers: { 201: answer('The file.', 'File') },
    errors: ['invalid_media', 'too_many_uploads', 'request_timeout', 'payload_too_large', 'unsupported_media_type'],
  },
  'GET /v1/files/{file_id}': {
    id: 'getFile',
    summary: 'Read the record of an upload.',
    permission: 'generate',
    parameters: [pathParameter('file_id', 'File id.')],
    answers: { 200: answer('The file.', 'File') },
    errors: ['file_not_found'],
  },
  'DELETE /v1/files/{file_id}': {
    id: 'deleteFile',
    summary:
      'Delete an upload. Running jobs keep their own copy; queued jobs that refer to it fail and their credits are released.',
    permission: 'generate',
    parameters: [pathParameter('file_id', 'File id.')],
    answers: { 204: { description: 'Deleted.' } },
    errors: ['file_not_found'],
  },
}

/** Downloads, if this process serves files. */
export const assetOperations: Readonly<Record<string, Operation>> = {
  'GET /assets/{key}': {
    id: 'getAsset',
    summary:
      'Download an output or an upload by the signed URL in its record. Supports ranges and conditional requests (RFC 9110).',
    permission: null,
    parameters: [
      pathParameter('key', 'Key of the file, slashes included.'),
      { ...query('expires', { type: 'string' }, 'When the URL stops working; part of the URL.'), required: true },
      { ...query('signature', { type: 'string' }, 'Signature; part of the URL.'), required: true },
    ],
    answers: {
      200: { description: 'The file.', content: { '*/*': {} } },
      206: { description: 'The requested range of the file.', content: { '*/*': {} } },
      304: { description: 'The client already has this version of the file.' },
      412: { description: 'The condition does not hold.' },
      416: { description: 'The file has no such range.' },
    },
    errors: ['asset_not_found'],
  },
}

const status = json({ type: 'object', required: ['status'], properties: { status: { type: 'string' } } })

const html = { 'text/html': { schema: { type: 'string' } } }

/** Operations without a key. */
export const openOperations: Readonly<Record<string, Operation>> = {
  'GET /healthz': {
    id: 'getHealth',
    summary: 'Whether the process is alive.',
    permission: null,
    answers: { 200: { description: 'It is.', content: status } },
  },
  'GET /readyz': {
    id: 'getReadiness',
    summary: 'Whether the server can serve requests.',
    permission: null,
    answers: {
      200: { description: 'It can.', content: status },
      503: {
        description: 'It cannot; `reason` says why.',
        content: json({
          type: 'object',
          required: ['status', 'reason'],
          properties: { status: { type: 'string' }, reason: { type: 'string' } },
        }),
      },
    },
  },
  'GET /metrics': {
    id: 'getMetrics',
    summary: 'Counters in the Prometheus text format.',
    permission: null,
    answers: { 200: { description: 'The counters.', content: { 'text/plain': { schema: { type: 'string' } } } } },
  },
  'GET /openapi.json': {
    id: 'getOpenapi',
    summary: 'The OpenAPI document of the REST interface.',
    permission: null,
    answers: { 200: { description: 'The document.', content: json({ type: 'object' }) } },
  },
  'GET /problems': {
    id: 'listProblems',
    summary: 'A page that lists every problem.',
    permission: null,
    answers: { 200: { description: 'The page.', content: html } },
  },
  'GET /problems/{code}': {
    id: 'getProblem',
    summary: 'The page that explains a problem. The `type` of a problem is its address.',
    permission: null,
    parameters: [pathParameter('code', 'Code of the problem.')],
    answers: { 200: { description: 'The page.', content: html } },
    errors: ['route_not_found'],
  },
}

function query(name: string, schema: object, description: string): object {
  return { name, in: 'query', description, schema }
}

function pathParameter(name: string, description: string): object {
  return { name, in: 'path', required: true, description, schema: { type: 'string' } }
}

/** A reference to a schema of the document. */
export function ref(name: string): object {
  return { $ref: `#/components/schemas/${name}` }
}

/** A body of JSON. */
export function json(schema: object): object {
  return { 'application/json': { schema } }
}

function answer(description: string, schema: string): object {
  return { description, content: json(ref(schema)) }
}
