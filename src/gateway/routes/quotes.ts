// POST /v1/quotes. docs/contract.md, section 1, Quote.
import type { JsonObject } from '@bufbuild/protobuf'
import type { FastifyInstance } from 'fastify'
import { QuoteSchema } from '../../../gen/mediagen/v1/quotes_pb.ts'
import { type CoreClient, forward } from '../core-client.ts'
import { addModelEnd } from '../model-end.ts'
import { readQuery } from '../query.ts'
import { toRecord } from '../records.ts'
import { quoteBodySchema } from '../schemas/bodies.ts'
import { quoteSchema } from '../schemas/schemas.ts'

interface QuoteBody {
  model: string
  input: JsonObject
}

/** Adds the route. */
export function addQuoteRoutes(app: FastifyInstance, core: CoreClient): void {
  app.post<{ Body: QuoteBody }>(
    '/v1/quotes',
    {
      config: { permission: 'generate' },
      schema: {
        operation: {
          id: 'createQuote',
          summary: 'Price one input for one model. Nothing is charged.',
          errors: ['invalid_input', 'model_not_found', 'model_not_allowed', 'model_unavailable', 'model_ended'],
        },
        body: quoteBodySchema,
        response: { 200: quoteSchema },
      },
    },
    async (request, reply) => {
      readQuery(request, {})
      const { model, input } = request.body
      const { quote, refusal, modelEnd } = await core.quotes.createQuote({ model, input }, forward(request))
      if (refusal) reply.header('mediagen-start-refused', `${refusal.code}; detail=${toHeaderText(refusal.detail)}`)
      addModelEnd(reply, modelEnd)
      return toRecord(QuoteSchema, quote)
    },
  )
}

/** A String of RFC 9651, or a Display String where the words have more than ASCII: an operator wrote them. */
function toHeaderText(words: string): string {
  if (/^[ -~]*$/.test(words)) return JSON.stringify(words)
  const escaped = [...Buffer.from(words)].map((byte) => {
    const sign = String.fromCharCode(byte)
    return /[ -~]/.test(sign) && sign !== '%' && sign !== '"' ? sign : `%${byte.toString(16).padStart(2, '0')}`
  })
  return `%"${escaped.join('')}"`
}
