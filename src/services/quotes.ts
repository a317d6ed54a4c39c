// QuotesService: what one model and one input will cost. docs/contract.md, section 1, Quote.
import type { ServiceImpl } from '@connectrpc/connect'
import type { Logger } from 'pino'
import type { QuotesService } from '../../gen/mediagen/v1/quotes_pb.ts'
import type { Catalog } from '../catalog/model.ts'
import { MediagenError } from '../core/errors.ts'
import { callerOf } from './caller.ts'
import { toQuoteMessage } from './convert.ts'
import { completeInput, digestQuoted, findReadyModel, quotePrice, readInput } from './model-input.ts'
import type { QuoteBook } from './quote-book.ts'

/** Creates the service. */
export function createQuotesService(deps: {
  catalog: Catalog
  quotes: QuoteBook
  log: Pick<Logger, 'error'>
}): ServiceImpl<typeof QuotesService> {
  const { catalog, quotes, log } = deps
  return {
    async createQuote(request, context) {
      const caller = callerOf(context)
      const { accountId } = caller
      const sent = readInput(request.input, { model: request.model })
      const model = findReadyModel(catalog, request.model, caller)
      const credits = quotePrice(model, completeInput(model, sent.input), log)
      const digest = digestQuoted(accountId, model.id, sent)
      const { quoteId, quote } = await quotes.seal(accountId, { model: model.id, credits, digest })
      return { quote: toQuoteMessage(quoteId, quote) }
    },
    async getQuote(request, context) {
      const quote = await quotes.open(callerOf(context).accountId, request.quoteId)
      if (!quote) throw quoteNotFound()
      return { quote: toQuoteMessage(request.quoteId, quote) }
    },
  }
}

/** The refusal of a quote that is forged, altered or another account's. The answer does not say which. */
export function quoteNotFound(): MediagenError {
  return new MediagenError('quote_not_found', 'There is no such quote. Ask for a new one with POST /v1/quotes.')
}
