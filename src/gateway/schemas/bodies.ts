// JSON Schemas of the bodies of REST requests.
import { credits } from './schema-fields.ts'

const inputSchema = { type: 'object', description: "The model's input.", additionalProperties: true } as const

export const quoteBodySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['model', 'input'],
  properties: { model: { type: 'string', minLength: 1, description: 'Model id.' }, input: inputSchema },
} as const

export const generateBodySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['model', 'input', 'quote_id'],
  properties: {
    ...quoteBodySchema.properties,
    quote_id: { type: 'string', minLength: 1, description: 'A valid, unexpired quote for this model and input.' },
  },
} as const

export const runBodySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['model', 'input', 'max_credits'],
  properties: {
    ...quoteBodySchema.properties,
    max_credits: { ...credits, description: 'The most that it may cost; a higher price is refused.' },
    labels: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Labels of the job, as of the header Mediagen-Labels, and before those.',
    },
    webhook_url: {
      type: 'string',
      minLength: 1,
      maxLength: 2048,
      description: 'Where the end of the job is sent, as of the header Mediagen-Webhook-Url, and before that.',
    },
  },
} as const

export const webhookBodySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['url'],
  properties: {
    url: {
      type: 'string',
      minLength: 1,
      maxLength: 2048,
      description: 'An absolute http or https URL without user name, password or fragment.',
    },
    description: { type: ['string', 'null'], maxLength: 200, description: 'A note for yourself.' },
    include_input: {
      type: 'boolean',
      default: false,
      description:
        "Whether messages carry the job's input, without values that have more than 1024 characters of JSON.",
    },
  },
} as const
