// JSON Schemas of the REST records, used twice: to serialize answers fast, and as the components of /openapi.json.
import { BilledSchema, ModalitySchema } from '../../../gen/mediagen/v1/catalog_pb.ts'
import { EntryKindSchema } from '../../../gen/mediagen/v1/wallet_pb.ts'
import { retryable } from '../../core/errors.ts'
import { jobStatuses } from '../../core/jobs/job.ts'
import { openaiErrorTypes } from '../problems/openai-error.ts'
import { keySchema, limitStateSchema } from './key-schemas.ts'
import {
  count,
  credits,
  listOf,
  namesOf,
  nullableCount,
  nullableString,
  nullableTime,
  nullableUrl,
  record,
  seconds,
  string,
  time,
  url,
} from './schema-fields.ts'

const modality = { type: 'string', enum: namesOf(ModalitySchema) } as const

export const quoteSchema = record('Quote', 'What one model and one input will cost.', {
  quote_id: { ...string, description: 'Passed to POST /v1/generate.' },
  model: { ...string, description: 'Model id that was priced.' },
  credits: {
    ...credits,
    description: 'Credits quoted for this exact request; an upper bound where the model is billed by usage.',
  },
  expires_at: { ...time, description: 'Last moment at which the quote is valid.' },
})

const provenanceSchema = {
  type: ['object', 'null'],
  description:
    'Where the file says it comes from, as read when it was stored; null for a file that was stored before this was read.',
  required: ['signed', 'verified', 'issuer', 'generator', 'actions', 'source_type', 'problem'],
  properties: {
    signed: { type: 'boolean', description: 'Whether it has a C2PA manifest.' },
    verified: {
      type: ['boolean', 'null'],
      description: 'Whether its signature and its content fit; null if nobody has checked.',
    },
    issuer: { ...nullableString, description: 'Who signed, as the certificate says, whoever made that.' },
    generator: {
      ...nullableString,
      description: 'The program that made the manifest, or else the `Software` of EXIF.',
    },
    actions: { type: 'array', items: string, description: 'What was done, such as `c2pa.created`.' },
    source_type: {
      ...nullableString,
      description: 'Digital source type: IPTC’s code, such as `trainedAlgorithmicMedia`, or another URI.',
    },
    problem: {
      ...nullableString,
      description: 'Why the manifest cannot be read or does not fit, or why the file could not be signed or marked.',
    },
  },
} as const

const outputSchema = record('Output', 'An output file.', {
  url: { ...nullableUrl, description: 'Signed URL of the file; null once it has expired.' },
  content_type: string,
  bytes: count,
  width: { type: ['integer', 'null'], format: 'int32', description: 'Pixels' },
  height: { type: ['integer', 'null'], format: 'int32', description: 'Pixels' },
  duration_seconds: { ...seconds, type: ['number', 'null'] },
  sha256: { ...string, description: 'Lower-case hexadecimal' },
  expires_at: { ...nullableTime, description: 'Last moment at which the URL works.' },
  preview_url: {
    ...nullableUrl,
    description:
      'Signed URL of a small picture of it (WebP, at most 512 pixels on its long side), without its provenance: a frame of a video, the waveform of a sound.',
  },
  blurhash: {
    ...nullableString,
    description: 'The preview of a picture or video in about thirty characters, to show while it loads.',
  },
  expired: { type: 'boolean', description: 'Whether the file was removed because its retention is over.' },
  kept_until: { ...nullableTime, description: 'When the file is removed, or was; null if it is kept for ever.' },
  provenance: provenanceSchema,
})

const jobErrorSchema = {
  type: ['object', 'null'],
  description: 'Why the job did not succeed.',
  required: ['code', 'message', 'retryable'],
  properties: {
    code: {
      ...string,
      description: 'Stable name of the failure. A program that makes media may have codes of its own.',
    },
    message: string,
    retryable: { type: 'boolean', description: 'Whether a new generation with the same input may succeed.' },
  },
} as const

export const jobSchema = record('Job', 'A generation, from its start to its end.', {
  job_id: string,
  status: { type: 'string', enum: jobStatuses },
  model: string,
  quote_id: string,
  progress: { type: 'number', format: 'double', minimum: 0, maximum: 1 },
  credits: { ...credits, description: 'The hold while the job is active, the charge once it is terminal.' },
  billing: record('Billing', 'Where the credits of the job are.', {
    quoted: credits,
    held: credits,
    charged: credits,
    released: credits,
  }),
  outputs: { type: 'array', items: outputSchema },
  error: jobErrorSchema,
  attempts: count,
  created_at: time,
  started_at: nullableTime,
  finished_at: nullableTime,
  queue_position: {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: 100,
    description:
      'Place in the queue of its model when this record was read: 1 for the next, 100 for 100 or later; null unless queued.',
  },
  preview_url: {
    ...nullableUrl,
    description: 'Signed URL of a draft picture where the engine shows one while it runs; null otherwise.',
  },
  served_by: {
    ...nullableString,
    description:
      'The provider whose server made it, as the catalog names it; null before it succeeded, and for what this server made itself.',
  },
  input: {
    type: ['object', 'null'],
    additionalProperties: true,
    description:
      'The input it was started with. GET /v1/jobs/{job_id} has all of it; other answers leave out values with more than 1024 characters of JSON. Null once retention or its owner has removed it, and in webhooks that do not ask for it.',
  },
  deleted_at: {
    ...nullableTime,
    description: 'When its owner deleted it, with its outputs and its input; null if it was not.',
  },
  key_id: { ...string, description: 'The key that started it.' },
  key_name: { ...nullableString, description: 'What the owner of that key calls it.' },
  labels: { type: 'object', additionalProperties: string, description: 'The labels of its start, by name.' },
  receipt: {
    ...record('Receipt', 'What the job cost; null until its hold is resolved.', {
      held: credits,
      charged: credits,
      released: credits,
      quote_id: { ...string, description: 'The quote of its start; that of a run was made with it.' },
      key_id: string,
    }),
    type: ['object', 'null'],
  },
  reproduction: {
    ...record('Reproduction', 'What it takes to make its files again; only GET /v1/jobs/{job_id} has it.', {
      input: {
        type: ['object', 'null'],
        additionalProperties: true,
        description:
          'The input of its run: as it was sent, with the defaults of the schema and a seed. Null once the input is removed.',
      },
      seed: {
        type: ['integer', 'null'],
        format: 'int64',
        description: 'The seed, also if none was sent; null if there is none.',
      },
      version: {
        ...nullableString,
        description:
          'The version of the model, or of the server’s own engine; null before it succeeded, and if nobody says.',
      },
      engine: { ...nullableString, description: 'The kind of the engine; null before it succeeded.' },
      provider_model: {
        ...nullableString,
        description:
          'What the provider calls the model; null before it succeeded, and for what this server made itself.',
      },
      not_guaranteed: {
        type: 'array',
        description: 'Why equal files are not certain; empty if they are.',
        items: record('NotGuaranteed', 'A reason why a job that is made again may have other files.', {
          code: { ...string, description: '`version_changed`, for example.' },
          detail: string,
        }),
      },
    }),
    type: ['object', 'null'],
  },
})

const sampleSchema = record('Sample', 'An output of a model, with the input that makes it.', {
  title: { ...string, description: 'What it shows, in words.' },
  url: {
    ...string,
    format: 'uri-reference',
    description: 'Where to get it, without a key: an absolute URL, or a path below the address of this server.',
  },
  content_type: string,
  width: { type: ['integer', 'null'], description: 'Pixels' },
  height: { type: ['integer', 'null'], description: 'Pixels' },
  duration_seconds: { type: ['number', 'null'] },
  preview_url: {
    ...nullableString,
    format: 'uri-reference',
    description: 'A picture of a film or sound, or a small one of a picture, as `url`.',
  },
  input: {
    type: ['object', 'null'],
    additionalProperties: true,
    description: 'The input that makes it; null in lists.',
  },
})

export const modelSchema = record('Model', 'A catalog entry.', {
  id: string,
  object: { const: 'model', type: 'string' },
  created: { type: 'integer', format: 'int64', description: 'Seconds since 1970' },
  owned_by: string,
  name: string,
  description: string,
  category: string,
  product: string,
  mode: string,
  modality: modality,
  pricing: record('Pricing', 'What the model costs.', {
    billing: { type: 'string', enum: namesOf(BilledSchema) },
    summary: string,
    from_credits: credits,
  }),
  samples: { type: 'array', items: sampleSchema, description: 'What it made, best first.' },
  version: { ...nullableString, description: 'Which version of the model this is; null if nobody says.' },
  released: { ...nullableString, format: 'date', description: 'The day on which that version came out.' },
  shutdown_date: {
    ...nullableString,
    format: 'date',
    description: 'The day, in UTC, from whose beginning on it makes nothing any more; null for none.',
  },
  replaced_by: { ...nullableString, description: 'Id of the model to use instead; null for none.' },
})

export const modelDetailSchema = record('ModelDetail', 'A catalog entry with its input schema.', {
  ...modelSchema.properties,
  unready_reason: {
    ...nullableString,
    description: 'Why it is not ready, in words that say what to do; null if it is.',
  },
  openapi: {
    type: 'object',
    additionalProperties: true,
    description: 'An OpenAPI 3.1 document with one request body: the input schema of the model.',
  },
})

export const productSchema = record('Product', 'A product with its modes.', {
  object: { const: 'product', type: 'string' },
  id: string,
  name: string,
  description: string,
  modality: modality,
  modes: {
    type: 'array',
    items: record('Mode', 'A mode of the product.', { mode: string, model: string, category: string, name: string }),
  },
})

export const categorySchema = record('Category', 'A task category.', {
  id: string,
  name: string,
  modality: modality,
  count,
})

export const walletSchema = record('Wallet', 'The balance of the account, in credits.', {
  available: credits,
  held: credits,
})

export const entrySchema = record('Entry', 'An append-only line of the ledger.', {
  entry_id: string,
  kind: { type: 'string', enum: namesOf(EntryKindSchema) },
  credits: { type: 'integer', format: 'int64', description: 'Negative only for an adjustment downwards.' },
  job_id: nullableString,
  available_after: credits,
  held_after: credits,
  note: nullableString,
  created_at: time,
  key_id: { ...nullableString, description: 'The key that started the job; null for grants and adjustments.' },
  key_name: { ...nullableString, description: 'What its owner calls it.' },
  reference: { ...nullableString, description: 'The reference of the payment that a grant is for.' },
  hash: {
    ...nullableString,
    description:
      'SHA-256 over this entry and `previous_hash`; null for entries that were written before entries had hashes.',
  },
  previous_hash: {
    ...nullableString,
    description: 'The hash of the entry before it; null for the first one that has a hash.',
  },
})

const nullableMoney = {
  ...record('Money', 'An amount of money.', {
    amount: { ...string, description: 'An exact decimal, such as `1.25`.' },
    currency: { ...string, description: 'Code of ISO 4217.' },
  }),
  type: ['object', 'null'],
} as const

const usageSum = {
  jobs: { ...count, description: 'Jobs that have ended.' },
  succeeded: count,
  charged: credits,
  cost: { ...nullableMoney, description: 'The charge in money; null if the server has no price.' },
} as const

const usageRowSchema = record('UsageRow', 'What the jobs of one group were charged.', {
  day: { ...nullableString, format: 'date', description: 'Null unless grouped by day.' },
  model: {
    ...nullableString,
    description: 'Null unless grouped by model; empty for jobs that were forgotten before there was usage.',
  },
  key_id: { ...nullableString, description: 'Null unless grouped by key; empty where it is not known any more.' },
  key_name: { ...nullableString, description: 'What its owner calls the key.' },
  labels: {
    type: 'object',
    additionalProperties: string,
    description: 'The labels that it is grouped by; one that the jobs do not have is missing.',
  },
  ...usageSum,
})

export const usageSchema = record('Usage', 'A page of usage.', {
  ...listOf(usageRowSchema, '').properties,
  sum: record('UsageSum', 'The sum of all rows, on whichever page.', usageSum),
  from: { ...string, format: 'date', description: 'First day.' },
  to: { ...string, format: 'date', description: 'Last day.' },
  time_zone: { ...string, description: 'Where days of new jobs begin.' },
})

export const accountSchema = record('Account', 'The account of the calling key.', {
  account_id: string,
  name: string,
  created_at: time,
  key: keySchema,
  limits: record('AccountLimits', 'What the account may send, start and keep.', {
    requests_per_second: { ...nullableCount, description: 'Of the calling key; null for no limit.' },
    request_bytes_per_second: {
      ...nullableCount,
      description: 'Bytes of request bodies of the calling key, files not counted; null for no limit.',
    },
    request_bytes: { ...count, description: 'Bytes of one request body.' },
    queued_jobs: { ...count, description: 'Jobs that may be queued at once.' },
    open_watches: { ...count, description: 'Jobs that may be watched at once.' },
    upload_bytes: { ...count, description: 'Bytes of one upload.' },
    stored_upload_bytes: { ...count, description: 'Bytes of all uploads together.' },
    webhooks: { ...count, description: 'Webhook endpoints.' },
    quote_seconds: { ...count, description: 'How long a quote is valid.' },
    wait_seconds: { ...count, description: 'How long a start with `wait=true` waits.' },
    retain_seconds: { ...count, description: 'How long outputs and uploads are kept.' },
  }),
})

export const fileSchema = record('File', 'An uploaded file.', {
  file_id: { ...string, description: 'Accepted wherever a schema says `format: media`.' },
  url: { ...url, description: 'Signed URL of the file; accepted like the id.' },
  content_type: { ...string, description: 'Detected from the content.' },
  bytes: count,
  sha256: { ...string, description: 'Lower-case hexadecimal' },
  created_at: time,
  expires_at: { ...time, description: 'When it is removed; the last moment at which the URL works.' },
})

export const problemSchema = {
  title: 'Problem',
  type: 'object',
  description: 'An error as in RFC 9457.',
  required: ['type', 'title', 'status', 'detail', 'code', 'retryable', 'request_id'],
  properties: {
    type: { ...url, description: 'Address of a page that explains the problem.' },
    title: string,
    status: { type: 'integer', description: 'HTTP status' },
    detail: string,
    code: { ...string, enum: Object.keys(retryable), description: 'Stable name; branch on this. Codes may be added.' },
    retryable: { type: 'boolean' },
    request_id: string,
    errors: {
      type: 'array',
      items: record('Violation', 'One place that is wrong.', { pointer: string, detail: string }),
    },
    required: { ...credits, description: 'Only with insufficient_credits, budget_exceeded and price_above_maximum.' },
    available: { ...credits, description: 'Only with insufficient_credits.' },
    top_up_url: {
      ...url,
      description: 'Only with insufficient_credits: where to buy credits, if the server says so.',
    },
    budget: limitStateSchema,
    permission: { ...string, description: 'Only with missing_permission.' },
    replaced_by: { ...string, description: 'Only with model_ended: the model to use instead, if there is one.' },
    error: record('OpenaiError', "The same, as clients of OpenAI's interface read it.", {
      message: { ...string, description: 'The detail.' },
      type: { ...string, enum: openaiErrorTypes },
      param: { ...nullableString, description: 'The first field that is wrong, such as `input.width`.' },
      code: string,
    }),
  },
} as const

export const jobListSchema = listOf(jobSchema, 'A page of jobs, newest first.')
export const modelListSchema = listOf(modelSchema, 'A page of models, in catalog order.')
export const productListSchema = listOf(productSchema, 'A page of products, in catalog order.')
export const categoryListSchema = listOf(categorySchema, 'The categories of ready models.')
export const entryListSchema = listOf(entrySchema, 'A page of ledger entries, newest first.')
export const keyListSchema = listOf(keySchema, 'A page of API keys, newest first.')
export const fileListSchema = listOf(fileSchema, 'A page of uploads, newest first.')
