// JSON Schemas of keys, their limits, and what is left of them.
import { permissions } from '../../core/accounts/key.ts'
import { windowLimits } from '../../core/accounts/limits.ts'
import { credits, nullableString, nullableTime, record, string, time } from './schema-fields.ts'

const nullableCredits = { ...credits, type: ['integer', 'null'] } as const
const modelPatterns = {
  type: 'array',
  items: string,
  description:
    'Models that may be started: `fal/flux` is that model and all below it, `*` stands for any characters. Empty for every model.',
} as const
const originList = {
  type: 'array',
  items: string,
  description:
    'Websites whose scripts may use the key, as `https://app.example`. Empty for all that the server allows.',
} as const

const limitsSchema = record('Limits', 'What a key may spend, in credits; null for no limit.', {
  per_start: { ...nullableCredits, description: 'What one start may cost.' },
  daily: { ...nullableCredits, description: 'What is spent in a day.' },
  weekly: { ...nullableCredits, description: 'What is spent in an ISO week, from Monday.' },
  monthly: { ...nullableCredits, description: 'What is spent in a month.' },
  total: { ...nullableCredits, description: 'What is spent in all.' },
  models: modelPatterns,
  origins: originList,
  extra: {
    title: 'ExtraCredits',
    type: ['object', 'null'],
    description: 'More credits in each of these windows, until an instant.',
    required: ['credits', 'until'],
    properties: { credits, until: time },
  },
})

export const limitStateSchema = record('LimitState', 'One limit in credits, and what is left of it.', {
  of: {
    ...string,
    enum: ['key', 'maker', 'account'],
    description: 'Whose limit: of the key, of the key that made it, or of the account.',
  },
  limit: { ...string, enum: ['per_start', ...windowLimits] },
  credits: { ...credits, description: 'The limit, with extra credits.' },
  held: { ...credits, description: 'Held by jobs that were started in the window.' },
  charged: { ...credits, description: 'Charged for such jobs.' },
  left: credits,
  starts_at: { ...nullableTime, description: 'When the window began; null for per_start and total.' },
  renews_at: { ...nullableTime, description: 'When the next window begins; null for per_start and total.' },
})

export const keySchema = record('Key', 'An API key, without its text.', {
  key_id: string,
  name: { ...nullableString, description: 'What its owner calls it.' },
  prefix: { ...string, description: 'How its text begins, to tell keys apart.' },
  permissions: { type: 'array', items: { type: 'string', enum: permissions } },
  created_at: time,
  last_used_at: { ...nullableTime, description: 'When it was last used, up to about a minute late; null for never.' },
  expires_at: { ...nullableTime, description: 'When it stops working; null for never.' },
  revoked_at: { ...nullableTime, description: 'When it was revoked; null if it was not.' },
  limits: limitsSchema,
  made_by: { ...nullableString, description: 'Id of the key that made it; null for keys of the operator.' },
})

export const ownKeySchema = {
  ...keySchema,
  title: 'OwnKey',
  description: 'The calling key, and what is left of its limits.',
  required: [...keySchema.required, 'left', 'time_zone'],
  properties: {
    ...keySchema.properties,
    left: { type: 'array', items: limitStateSchema, description: 'Every limit in credits that applies to the key.' },
    time_zone: { ...string, description: 'The time zone of days, weeks and months.' },
  },
} as const

const unmatchedModels = {
  type: 'array',
  items: string,
  description: 'Patterns of models that match no model of the catalog now. They are kept.',
} as const

export const limitedKeySchema = {
  ...keySchema,
  title: 'LimitedKey',
  required: [...keySchema.required, 'unmatched_models'],
  properties: { ...keySchema.properties, unmatched_models: unmatchedModels },
} as const

export const createdKeySchema = {
  ...limitedKeySchema,
  title: 'CreatedKey',
  description: 'A new key, with its text, which is shown only this once.',
  required: [...limitedKeySchema.required, 'key'],
  properties: { key: { ...string, description: 'Its text, `mgk_…`.' }, ...limitedKeySchema.properties },
} as const

const limitsBody = {
  type: ['object', 'null'],
  additionalProperties: false,
  description: 'What the key may spend; null removes a limit.',
  properties: {
    per_start: nullableCredits,
    daily: nullableCredits,
    weekly: nullableCredits,
    monthly: nullableCredits,
    total: nullableCredits,
    models: { ...modelPatterns, type: ['array', 'null'] },
    origins: { ...originList, type: ['array', 'null'] },
    extra: {
      type: ['object', 'null'],
      additionalProperties: false,
      required: ['credits', 'until'],
      properties: { credits, until: { type: 'string', format: 'date-time' } },
    },
  },
} as const

export const keyBodySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['permissions'],
  properties: {
    permissions: { type: 'array', minItems: 1, items: { type: 'string', enum: permissions } },
    name: { ...nullableString, description: 'What you call it.' },
    expires_at: {
      type: ['string', 'null'],
      format: 'date-time',
      description: 'Default: when the calling key expires.',
    },
    limits: limitsBody,
  },
} as const

export const keyChangeSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['limits'],
  properties: { limits: { ...limitsBody, type: 'object' } },
} as const
