// QuotesService: what one model and one input will cost. docs/contract.md, section 1, Quote.
import type { ServiceImpl } from '@connectrpc/connect'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Logger } from 'pino'
import type { QuotesService } from '../../gen/mediagen/v1/quotes_pb.ts'
import type { Catalog, Model } from '../catalog/model.ts'
import type { ApiKey } from '../core/accounts/key.ts'
import { findExceeded, limitsCredits } from '../core/accounts/limits.ts'
import { calendarOf } from '../core/calendar.ts'
import type { Clock } from '../core/clock.ts'
import { MediagenError } from '../core/errors.ts'
import type { Store } from '../core/store.ts'
import { whyKeyless } from './account.ts'
import { callerOf } from './calls/caller.ts'
import { toModelEndField, toQuoteMessage } from './messages/convert.ts'
import { budgetExceeded } from './messages/limits.ts'
import { completeInput, digestQuoted, findReadyModel, quotePrice, readInput } from './model-input.ts'
import type { QuoteBook, Sealed } from './quote-book.ts'

/** What quotes are made with. */
interface QuoteDeps {
  readonly quotes: QuoteBook
  readonly log: Pick<Logger, 'error'>
}

/** Creates the service. */
export function createQuotesService(
  deps: QuoteDeps & {
    readonly catalog: Catalog
    readonly store: Pick<Store, 'readBudgets' | 'getAccount'>
    readonly clock: Clock
    readonly timeZone: string
  },
): ServiceImpl<typeof QuotesService> {
  const { catalog, quotes, store, clock, timeZone } = deps

  /** What the account and limits say against a start at this price now. Keys without limits, the usual ones, cost no query. */
  async function findRefusal(key: ApiKey, credits: number): Promise<MediagenError | null> {
    if (key.accountStatus !== 'active') return whyKeyless(store, key.accountId)
    if (![key.limits, key.makerLimits, key.accountLimits].some(limitsCredits)) return null
    const exceeded = findExceeded(await store.readBudgets(key), credits, clock.nowMs(), calendarOf(timeZone))
    return exceeded && budgetExceeded(credits, exceeded)
  }

  return {
    async createQuote(request, context) {
      const caller = callerOf(context)
      const { accountId } = caller
      const sent = readInput(request.input, { model: request.model })
      const model = findReadyModel(catalog, request.model, caller)
      const completed = completeInput(model, sent.input)
      const digest = digestQuoted(accountId, model.id, sent)
      const { quoteId, quote } = await issueQuote(deps, accountId, model, completed, digest)
      const refusal = await findRefusal(caller, quote.credits)
      return {
        quote: toQuoteMessage(quoteId, quote),
        ...(refusal && { refusal: { code: refusal.code, detail: refusal.message } }),
        ...toModelEndField(catalog.endOf(model)),
      }
    },
    async getQuote(request, context) {
      const quote = await quotes.open(callerOf(context).accountId, request.quoteId)
      if (!quote) throw quoteNotFound()
      return { quote: toQuoteMessage(request.quoteId, quote) }
    },
  }
}

/**
 * Prices an input and seals the quote.
 * @param completed the input with the defaults of the schema
 * @param digest what the quote is bound to
 * @throws MediagenError `invalid_input` where the model has no price for it
 */
export async function issueQuote(
  { quotes, log }: QuoteDeps,
  accountId: string,
  model: Model,
  completed: JsonObject,
  digest: string,
): Promise<Sealed> {
  return quotes.seal(accountId, { model: model.id, credits: quotePrice(model, completed, log), digest })
}

/** The refusal of a quote that is forged, altered or another account's. The answer does not say which. */
export function quoteNotFound(): MediagenError {
  return new MediagenError('quote_not_found', 'There is no such quote. Ask for a new one with POST /v1/quotes.')
}
