// GenerationService: starts, reads, lists, watches and cancels generations. docs/contract.md, sections 1 and 2.
import type { ServiceImpl } from '@connectrpc/connect'
import { digestParts } from '@mediagen/engine/canonical-json.ts'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { GenerationService, ListJobsRequest } from '../../gen/mediagen/v1/generation_pb.ts'
import type { Catalog } from '../catalog/model.ts'
import type { ApiKey } from '../core/accounts/key.ts'
import { toTimestampText, type Clock } from '../core/clock.ts'
import type { Quote } from '../core/credits/quote-seal.ts'
import { MediagenError } from '../core/errors.ts'
import type { AssetUrls } from '../core/files/asset.ts'
import type { JobFeed } from '../core/jobs/feed.ts'
import { briefInput } from '../core/jobs/job-input.ts'
import { isTerminal, type Job, type JobStatus } from '../core/jobs/job.ts'
import { longestSearch } from '../core/search-text.ts'
import { isDatabaseAway } from '../core/storage-trouble.ts'
import type { JobFilter, StartOutcome, Store } from '../core/store.ts'
import { urlsFor } from './caller-urls.ts'
import { callerOf } from './caller.ts'
import { toJobMessage } from './job-message.ts'
import { budgetExceeded } from './limits.ts'
import { completeInput, digestQuoted, findReadyModel, readInput } from './model-input.ts'
import type { QuoteBook } from './quote-book.ts'
import { quoteNotFound } from './quotes.ts'
import { findLong, findLongName, readPage, readStatus, refuse } from './request.ts'
import { readRetention, readTerms, type Terms, toTermParts } from './terms.ts'
import type { Watches } from './watches.ts'

const retryQueueFullSeconds = 5
const retryShutdownSeconds = 2
const legalKey = '1 to 255 visible ASCII characters, without spaces'

/** What the service needs. */
export interface GenerationDeps {
  readonly store: Pick<
    Store,
    | 'startGeneration'
    | 'findStartedJob'
    | 'getJob'
    | 'getInput'
    | 'listBriefInputs'
    | 'listJobs'
    | 'requestCancel'
    | 'deleteJob'
  >
  readonly catalog: Catalog
  readonly quotes: QuoteBook
  readonly feed: JobFeed
  readonly watches: Watches
  readonly urls: AssetUrls
  readonly clock: Clock
  readonly waitMs: number
  readonly maxQueuedJobs: number
  /** The time zone of the windows of limits. */
  readonly timeZone: string
  /** How long outputs are kept: the default, which is also the maximum. */
  readonly retainMs: number
  /** Whether the server is stopping: nothing new is started then. */
  readonly isStopping: () => boolean
}

/** A start as requested. */
interface Order {
  readonly caller: ApiKey
  readonly model: string
  readonly input: JsonObject
  readonly quoteId: string
  readonly terms: Terms
  readonly idempotencyKey: string
  /** What a quote for this start must be bound to. */
  readonly quotedDigest: string
  readonly requestDigest: Buffer
}

interface Started {
  readonly job: Job
  readonly replayed: boolean
}

/** Creates the service. */
export function createGenerationService(deps: GenerationDeps): ServiceImpl<typeof GenerationService> {
  const { store, feed, watches, urls } = deps

  async function followJob(job: Job, wait: boolean, signal: AbortSignal): Promise<Job> {
    if (!wait || isTerminal(job.status)) return job
    const { accountId, jobId } = job
    return (await watches.wait(accountId, () => feed.awaitEnd(accountId, jobId, deps.waitMs, signal))) ?? job
  }

  /** As much of a job's input as most answers show. */
  async function readBriefInput(jobId: string): Promise<JsonObject | null> {
    const input = await store.getInput(jobId)
    return input && briefInput(input)
  }

  /** Starts the job if the request passes every check. */
  async function start(order: Order): Promise<Started> {
    const { caller, input, quoteId, terms, idempotencyKey, quotedDigest, requestDigest } = order
    const { accountId, keyId, name: keyName } = caller
    if (deps.isStopping()) throw shuttingDown()

    const retainMs = readRetention(terms, deps.retainMs)
    const model = findReadyModel(deps.catalog, order.model, caller)
    const quote = await deps.quotes.open(accountId, quoteId)
    if (!quote) throw quoteNotFound()
    checkQuote(quote, deps.clock.nowMs(), model.id, quotedDigest)
    const usagePrice = model.usagePrice(completeInput(model, input))

    const { maxQueuedJobs, timeZone } = deps
    const { credits } = quote
    const command = {
      accountId,
      keyId,
      keyName,
      timeZone,
      model: model.id,
      input,
      quoteId,
      idempotencyKey,
      requestDigest,
      credits,
      usagePrice,
      maxQueuedJobs,
      ...terms,
      retainMs,
      maxAttempts: model.maxAttempts,
    }
    return readStart(await store.startGeneration(command), quote, idempotencyKey, maxQueuedJobs)
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
    async startGeneration(request, context) {
      const caller = callerOf(context)
      const { model, quoteId, wait } = request
      const sent = readInput(request.input, { model, quote_id: quoteId })
      const terms = readTerms(request)
      const idempotencyKey = parseIdempotencyKey(request.idempotencyKey)
      // A large input is hashed once.
      const quotedDigest = digestQuoted(caller.accountId, model, sent)
      const requestDigest = Buffer.from(digestParts(quotedDigest, quoteId, ...toTermParts(terms)), 'hex')
      const { input } = sent
      const order = { caller, model, input, quoteId, terms, idempotencyKey, quotedDigest, requestDigest }
      const { job, replayed } = await startOrFindEarlier(order)
      const followed = await followJob(job, wait, context.signal)
      const shown = followed.outputsGone ? null : briefInput(input)
      return { job: toJobMessage(followed, shown, urlsFor(urls, context)), replayed }
    },

    async getJob(request, context) {
      const job = await findJob(store, callerOf(context).accountId, request.jobId)
      return { job: toJobMessage(job, await store.getInput(job.jobId), urlsFor(urls, context)) }
    },

    async listJobs(request, context) {
      const { accountId } = callerOf(context)
      const { items, total } = await store.listJobs(readFilter(accountId, request))
      const inputs = await store.listBriefInputs(
        accountId,
        items.map(({ jobId }) => jobId),
      )
      const shown = urlsFor(urls, context)
      return { jobs: items.map((job) => toJobMessage(job, inputs.get(job.jobId) ?? null, shown)), total }
    },

    async cancelJob(request, context) {
      const job = await store.requestCancel(callerOf(context).accountId, request.jobId)
      if (!job) throw jobNotFound(request.jobId)
      return { job: toJobMessage(job, await readBriefInput(job.jobId), urlsFor(urls, context)) }
    },

    async deleteJob({ jobId }, context) {
      const deleted = await store.deleteJob(callerOf(context).accountId, jobId)
      if (deleted.outcome === 'no_job') throw jobNotFound(jobId)
      if (deleted.outcome === 'not_ended') throw notEnded(jobId, deleted.status)
      return {}
    },

    async *watchJob(request, context) {
      const { accountId } = callerOf(context)
      const end = watches.open(accountId)
      try {
        const input = await readBriefInput(request.jobId)
        const shown = urlsFor(urls, context)
        // The feed listens from here until its changes are read to the end: nothing may fail in between.
        const changes = await feed.watch(accountId, request.jobId, context.signal)
        if (!changes) throw jobNotFound(request.jobId)
        for await (const job of changes) {
          const sequence = BigInt(job.sequence)
          // The end is sent to every watcher that has not seen it, whatever sequence number it names.
          const isNew = isTerminal(job.status) ? sequence !== request.afterSequence : sequence > request.afterSequence
          if (isNew) yield { job: toJobMessage(job, input, shown), sequence }
        }
      } finally {
        end()
      }
    },
  }
}

/** @throws MediagenError `invalid_request` that names what is wrong */
function readFilter(accountId: string, request: ListJobsRequest): JobFilter {
  const { idempotencyKey: key, search, model } = request
  const idempotencyKey = key === '' ? null : unquoteIdempotencyKey(key)
  if (key !== '' && idempotencyKey === null) refuse([{ pointer: '/idempotency_key', detail: `must be ${legalKey}` }])
  refuse([...findLongName('model', model), ...findLong('search', search, longestSearch)])
  const status = readStatus(request.status)
  return {
    accountId,
    status,
    model: model || null,
    idempotencyKey,
    search: search || null,
    withDeleted: false,
    ...readPage(request),
  }
}

/**
 * An idempotency key, without the quotes of an RFC 8941 string.
 * @throws MediagenError `idempotency_key_required` or `idempotency_key_invalid`
 */
function parseIdempotencyKey(written: string): string {
  if (written === '')
    throw new MediagenError(
      'idempotency_key_required',
      'The Idempotency-Key is missing. Send one unique value, such as a UUID, for each generation that you intend.',
    )
  const key = unquoteIdempotencyKey(written)
  if (key === null) throw new MediagenError('idempotency_key_invalid', `The Idempotency-Key must be ${legalKey}.`)
  return key
}

/** Null if the text is not an idempotency key. */
function unquoteIdempotencyKey(written: string): string | null {
  const key = /^".*"$/.test(written) ? written.slice(1, -1).replaceAll(/\\(["\\])/g, '$1') : written
  return /^[!-~]{1,255}$/.test(key) ? key : null
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

function readStart(started: StartOutcome, quote: Quote, idempotencyKey: string, maxQueuedJobs: number): Started {
  switch (started.outcome) {
    case 'created':
    case 'replayed':
      return { job: started.job, replayed: started.outcome === 'replayed' }
    case 'key_reused':
      throw keyReused(idempotencyKey)
    case 'no_credits':
      throw new MediagenError(
        'insufficient_credits',
        `The quote needs ${quote.credits} ${quote.credits === 1 ? 'credit' : 'credits'} and ${started.available} ${started.available === 1 ? 'is' : 'are'} available. Nothing was held.`,
        { required: quote.credits, available: started.available },
      )
    case 'over_limit':
      throw budgetExceeded(quote.credits, started.exceeded)
    case 'too_many_jobs':
      throw new MediagenError(
        'too_many_jobs',
        `The account has ${started.queued} queued jobs, and the limit is ${maxQueuedJobs}. Nothing was held.`,
        { retryAfterSeconds: retryQueueFullSeconds },
      )
  }
}

async function findJob(store: Pick<Store, 'getJob'>, accountId: string, jobId: string): Promise<Job> {
  const job = await store.getJob(accountId, jobId)
  if (!job) throw jobNotFound(jobId)
  return job
}

function jobNotFound(jobId: string): MediagenError {
  return new MediagenError('job_not_found', `There is no job "${jobId}".`)
}

function shuttingDown(): MediagenError {
  return new MediagenError('shutting_down', 'This server is stopping. Nothing was held; send the request again.', {
    retryAfterSeconds: retryShutdownSeconds,
  })
}

function notEnded(jobId: string, status: JobStatus): MediagenError {
  const advice =
    status === 'needs_review'
      ? 'is under review. It can be deleted once that is over.'
      : `is ${status}. Cancel it first, then delete it once it has ended.`
  return new MediagenError('job_not_ended', `The job "${jobId}" ${advice}`)
}

function keyReused(idempotencyKey: string): MediagenError {
  return new MediagenError(
    'idempotency_key_reused',
    `The Idempotency-Key "${idempotencyKey}" already started a generation with another model, input, quote, deadline, priority or retention.`,
  )
}
