// Starts of generations: with a quote that was asked for before, or with one made here for at most a maximum price. Both take the
// same way from the Idempotency-Key to the hold. docs/contract.md, section 2.
import { digestParts } from '@mediagen/engine/canonical-json.ts'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Logger } from 'pino'
import type { RunRequest, StartGenerationRequest } from '../../gen/mediagen/v1/generation_pb.ts'
import type { Catalog, Model } from '../catalog/model.ts'
import type { ApiKey } from '../core/accounts/key.ts'
import { toTimestampText, type Clock } from '../core/clock.ts'
import { countCredits } from '../core/credits/ledger.ts'
import type { Quote } from '../core/credits/quote-seal.ts'
import { MediagenError } from '../core/errors.ts'
import type { Job } from '../core/jobs/job.ts'
import { findAdditions } from '../core/jobs/reproduction.ts'
import { isDatabaseAway } from '../core/storage-trouble.ts'
import type { StartCommand, StartOutcome, Store } from '../core/store.ts'
import { parseIdempotencyKey } from '../core/text/idempotency-key.ts'
import { inSpan, type Traces } from '../core/traces.ts'
import { describeMissing } from '../core/violations.ts'
import { accountFrozen } from './account.ts'
import { refuse, toCredits } from './calls/request.ts'
import { budgetExceeded } from './messages/limits.ts'
import { createWebhookSecret, type WebhookTargets } from './messages/webhook-endpoint.ts'
import { completeInput, digestQuoted, findReadyModel, readInput } from './model-input.ts'
import type { QuoteBook } from './quote-book.ts'
import { issueQuote, quoteNotFound } from './quotes.ts'
import { readRetention, readTerms, type Terms, toTermParts } from './terms.ts'

const retryQueueFullSeconds = 5
const retryShutdownSeconds = 2

/** What starts need. */
export interface StartDeps {
  readonly store: Pick<Store, 'startGeneration' | 'findStartedJob' | 'findStartWebhook' | 'openStartWebhook'>
  readonly catalog: Catalog
  readonly webhookTargets: WebhookTargets
  readonly quotes: QuoteBook
  readonly clock: Clock
  readonly log: Pick<Logger, 'error'>
  readonly traces: Traces
  readonly maxQueuedJobs: number
  /** The time zone of the windows of limits. */
  readonly timeZone: string
  /** How long outputs are kept: the default, which is also the maximum. */
  readonly retainMs: number
  /** Where accounts buy credits; `{account}` stands for their id. Null for nowhere. */
  readonly topUpUrl: string | null
  /** Whether the server is stopping: nothing new is started then. */
  readonly isStopping: () => boolean
}

/** A job, and whether an earlier request with the same key had started it. */
export interface Started {
  readonly job: Job
  readonly replayed: boolean
}

/** A start as requested. */
interface Order {
  readonly caller: ApiKey
  readonly model: string
  readonly input: JsonObject
  readonly terms: Terms
  readonly idempotencyKey: string
  readonly requestDigest: Buffer
  /** The quote to start with. */
  readonly agree: (model: Model) => Promise<Agreement>
}

interface Agreement {
  readonly quoteId: string
  readonly credits: number
  /** The input with the defaults of the schema. */
  readonly completed: JsonObject
}

/** Starts generations. Both methods throw MediagenError. */
export interface Starts {
  /** With the quote that the request names. */
  withQuote(request: StartGenerationRequest, caller: ApiKey): Promise<Started>
  /** With a quote of its own, if that is not above the maximum of the request. */
  upToMaximum(request: RunRequest, caller: ApiKey): Promise<Started>
}

/** Creates the starts. */
export function createStarts(deps: StartDeps): Starts {
  const { store, quotes, maxQueuedJobs, traces } = deps

  /** Starts the job if the request passes every check. */
  async function start(order: Order): Promise<Started> {
    const { caller, input, terms, idempotencyKey, requestDigest } = order
    const { accountId, keyId, name: keyName } = caller
    if (deps.isStopping())
      throw new MediagenError('shutting_down', 'This server is stopping. Nothing was held; send the request again.', {
        retryAfterSeconds: retryShutdownSeconds,
      })

    const retainMs = readRetention(terms, deps.retainMs)
    const model = findReadyModel(deps.catalog, order.model, caller)
    const { quoteId, credits, completed } = await inSpan(traces, 'quote', {}, () => order.agree(model))
    // Its messages are signed with the secret of the account for all starts.
    if (terms.webhookUrl !== null && (await store.findStartWebhook(accountId)) === null)
      await store.openStartWebhook(accountId, createWebhookSecret())
    const facts = { 'mediagen.model': model.id, 'mediagen.credits': credits }
    return inSpan(traces, 'hold', { kind: 'producer', facts }, async (span) => {
      const command = {
        accountId,
        keyId,
        keyName,
        timeZone: deps.timeZone,
        model: model.id,
        input,
        additions: findAdditions(input, model.completeSeed(input, completed)),
        quoteId,
        idempotencyKey,
        requestDigest,
        credits,
        usagePrice: model.usagePrice(completed),
        maxQueuedJobs,
        ...terms,
        retainMs,
        maxAttempts: model.maxAttempts,
        trace: span.context,
      }
      const started = readStart(await store.startGeneration(command), command, deps.topUpUrl)
      span.set({ 'mediagen.job.id': started.job.jobId })
      return started
    })
  }

  /** The job that an earlier request with the same key started. It is the answer even if its quote has expired or its model is gone. */
  async function findEarlier({ caller, idempotencyKey, requestDigest }: Order): Promise<Started | null> {
    const earlier = await store.findStartedJob(caller.accountId, idempotencyKey)
    if (!earlier) return null
    if (!requestDigest.equals(earlier.requestDigest)) throw keyReused(idempotencyKey)
    return { job: earlier.job, replayed: true }
  }

  /** The store also answers a repeated request, so an earlier one is looked up only if this one is refused. */
  async function startOrFindEarlier(order: Order): Promise<Started> {
    try {
      return await start(order)
    } catch (refusal) {
      // It could not be read either.
      if (isDatabaseAway(refusal)) throw refusal
      const earlier = await findEarlier(order)
      if (earlier) return earlier
      throw refusal
    }
  }

  return {
    async withQuote(request, caller) {
      const { accountId } = caller
      const { model, quoteId } = request
      const sent = readInput(request.input, { model, quote_id: quoteId })
      const { input } = sent
      const terms = readTerms(request, caller, deps.webhookTargets)
      const idempotencyKey = parseIdempotencyKey(request.idempotencyKey)
      // A large input is hashed once.
      const quotedDigest = digestQuoted(accountId, model, sent)
      const requestDigest = toRequestDigest(quotedDigest, quoteId, ...toTermParts(terms))
      const agree = async (found: Model): Promise<Agreement> => {
        const quote = await quotes.open(accountId, quoteId)
        if (!quote) throw quoteNotFound()
        checkQuote(quote, deps.clock.nowMs(), found.id, quotedDigest)
        return { quoteId, credits: quote.credits, completed: completeInput(found, input) }
      }
      return startOrFindEarlier({ caller, model, input, terms, idempotencyKey, requestDigest, agree })
    },

    async upToMaximum(request, caller) {
      const { accountId } = caller
      const { model } = request
      const sent = readInput(request.input, { model })
      const { input } = sent
      const maxCredits = readMaximum(request.maxCredits)
      const terms = readTerms(request, caller, deps.webhookTargets)
      const idempotencyKey = parseIdempotencyKey(request.idempotencyKey)
      const quotedDigest = digestQuoted(accountId, model, sent)
      // The quote has another id each time. Where its id would be there is nothing, which no request with a quote can have.
      const requestDigest = toRequestDigest(quotedDigest, '', `max_credits=${maxCredits}`, ...toTermParts(terms))
      const agree = async (found: Model): Promise<Agreement> => {
        const completed = completeInput(found, input)
        const { quoteId, quote } = await issueQuote(deps, accountId, found, completed, quotedDigest)
        const { credits } = quote
        if (credits > maxCredits) throw priceAboveMaximum(credits, maxCredits)
        return { quoteId, credits, completed }
      }
      return startOrFindEarlier({ caller, model, input, terms, idempotencyKey, requestDigest, agree })
    },
  }
}

function toRequestDigest(...parts: readonly string[]): Buffer {
  return Buffer.from(digestParts(...parts), 'hex')
}

/** @throws MediagenError `invalid_request` */
function readMaximum(sent: bigint | undefined): number {
  const pointer = '/max_credits'
  if (sent === undefined) refuse([{ pointer, detail: describeMissing(pointer) }])
  const credits = toCredits(sent as bigint)
  if (credits === null || credits < 0) refuse([{ pointer, detail: 'must be 0 to 2^53 - 1' }])
  return credits as number
}

function checkQuote(quote: Quote, nowMs: number, model: string, digest: string): void {
  if (nowMs > quote.expiresAtMs)
    throw new MediagenError(
      'quote_expired',
      `The quote expired at ${toTimestampText(quote.expiresAtMs)}. Ask for a new one.`,
    )
  if (quote.model !== model)
    throw new MediagenError('quote_mismatch', `The quote was made for the model "${quote.model}", not for "${model}".`)
  if (quote.digest !== digest)
    throw new MediagenError(
      'quote_mismatch',
      'The quote was made for another input. Send the input exactly as it was quoted, or ask for a new quote.',
    )
}

function readStart(
  started: StartOutcome,
  { accountId, credits, idempotencyKey, maxQueuedJobs }: StartCommand,
  topUpUrl: string | null,
): Started {
  switch (started.outcome) {
    case 'created':
    case 'replayed':
      return { job: started.job, replayed: started.outcome === 'replayed' }
    case 'key_reused':
      throw keyReused(idempotencyKey)
    case 'no_credits':
      throw new MediagenError(
        'insufficient_credits',
        `The quote needs ${countCredits(credits)} and ${started.available} ${started.available === 1 ? 'is' : 'are'} available. Nothing was held.`,
        {
          required: credits,
          available: started.available,
          ...(topUpUrl !== null && { topUpUrl: topUpUrl.replaceAll('{account}', encodeURIComponent(accountId)) }),
        },
      )
    case 'account_not_active':
      throw accountFrozen(started)
    case 'over_limit':
      throw budgetExceeded(credits, started.exceeded)
    case 'too_many_jobs':
      throw new MediagenError(
        'too_many_jobs',
        `The account has ${started.queued} queued jobs, and the limit is ${maxQueuedJobs}. Nothing was held.`,
        { retryAfterSeconds: retryQueueFullSeconds },
      )
  }
}

function priceAboveMaximum(credits: number, maxCredits: number): MediagenError {
  return new MediagenError(
    'price_above_maximum',
    `This costs ${countCredits(credits)}, and the request allows at most ${maxCredits} (max_credits). Nothing was held.`,
    { required: credits },
  )
}

function keyReused(idempotencyKey: string): MediagenError {
  return new MediagenError(
    'idempotency_key_reused',
    `The Idempotency-Key "${idempotencyKey}" already started a generation with another model, input, quote, maximum price, deadline, priority or retention.`,
  )
}
