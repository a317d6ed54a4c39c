// GenerationService: starts, reads, lists, watches and cancels generations. docs/contract.md, sections 1 and 2.
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { GenerationService, ListJobsRequest, StartGenerationRequest } from '../../gen/mediagen/v1/generation_pb.ts'
import type { ApiKey } from '../core/accounts/key.ts'
import { MediagenError } from '../core/errors.ts'
import type { AssetUrls } from '../core/files/asset.ts'
import type { JobFiles } from '../core/files/job-files.ts'
import type { JobFeed } from '../core/jobs/feed.ts'
import { briefInput } from '../core/jobs/job-input.ts'
import { isTerminal, type Job, type JobStatus } from '../core/jobs/job.ts'
import { findLabelFault, type Label } from '../core/jobs/labels.ts'
import { addAll } from '../core/jobs/reproduction.ts'
import type { JobFilter, Store } from '../core/store.ts'
import { legalKey, unquoteIdempotencyKey } from '../core/text/idempotency-key.ts'
import { longestSearch } from '../core/text/search-text.ts'
import type { SlotBounds } from '../guards/slots.ts'
import { urlsFor } from './calls/caller-urls.ts'
import { callerOf } from './calls/caller.ts'
import { findLong, findLongName, readPage, readStatus, refuse } from './calls/request.ts'
import { createJobFileStreams } from './job-files.ts'
import { toModelEndField } from './messages/convert.ts'
import { toJobMessage } from './messages/job-message.ts'
import { toReproduction } from './messages/reproduction.ts'
import { createStarts, type StartDeps, type Started } from './starts.ts'
import type { Watches } from './watches.ts'

/** What the service needs. */
export interface GenerationDeps extends Omit<StartDeps, 'store'> {
  readonly store: StartDeps['store'] &
    Pick<Store, 'getJob' | 'getInput' | 'listBriefInputs' | 'listJobs' | 'requestCancel' | 'deleteJob'>
  readonly feed: JobFeed
  readonly watches: Watches
  readonly files: JobFiles
  /** How many may read the files of jobs at once, in all and for one account. */
  readonly downloads: SlotBounds
  readonly urls: AssetUrls
  readonly waitMs: number
}

/** Creates the service. */
export function createGenerationService(deps: GenerationDeps): ServiceImpl<typeof GenerationService> {
  const { store, feed, watches, files, urls } = deps
  const starts = createStarts(deps)
  const sendFiles = createJobFileStreams(deps.downloads)

  async function followJob(job: Job, wait: boolean, signal: AbortSignal): Promise<Job> {
    if (!wait || isTerminal(job.status)) return job
    const { accountId, jobId } = job
    return (await watches.wait(accountId, () => feed.awaitEnd(accountId, jobId, deps.waitMs, signal))) ?? job
  }

  /** As much of a job's input as most answers show. */
  async function readBriefInput(jobId: string): Promise<JsonObject | null> {
    const stored = await store.getInput(jobId)
    return stored && briefInput(stored.input)
  }

  /** The answer to a start, at once or when its job has ended. */
  async function answerStart(
    { job, replayed }: Started,
    { input = {}, wait }: Pick<StartGenerationRequest, 'input' | 'wait'>,
    context: HandlerContext,
  ) {
    const followed = await followJob(job, wait, context.signal)
    const shown = followed.outputsGone ? null : briefInput(input)
    const model = deps.catalog.find(job.model)
    return {
      job: toJobMessage(followed, shown, urlsFor(urls, context)),
      replayed,
      ...(model && toModelEndField(deps.catalog.endOf(model))),
    }
  }

  return {
    async startGeneration(request, context) {
      return answerStart(await starts.withQuote(request, callerOf(context)), request, context)
    },

    async run(request, context) {
      return answerStart(await starts.upToMaximum(request, callerOf(context)), request, context)
    },

    async getJob(request, context) {
      const job = await findJob(store, callerOf(context).accountId, request.jobId)
      const stored = await store.getInput(job.jobId)
      const message = toJobMessage(job, stored && stored.input, urlsFor(urls, context))
      return { job: { ...message, reproduction: toReproduction(job, stored, deps) } }
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

    async *readJobFiles({ jobId }, context) {
      const caller = callerOf(context)
      const job = await findJob(store, caller.accountId, jobId)
      if (!isTerminal(job.status))
        throw new MediagenError(
          'job_not_ended',
          `The job "${jobId}" is ${job.status}. Its files can be had once it has ended.`,
        )
      const stored = await store.getInput(jobId)
      const references = (stored && deps.catalog.find(job.model)?.mediaOf(addAll(stored))) ?? []
      yield* sendFiles(caller.accountId, files.read(job, references, mayReadUploads(caller)), context.signal)
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
  const { idempotencyKey: key, search, model, label } = request
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
    label: label === '' ? null : readLabel(label),
    withDeleted: false,
    ...readPage(request),
  }
}

/** @throws MediagenError `invalid_request` */
function readLabel(written: string): Label {
  const [, name = '', value = ''] = /^([^:]*):(.*)$/s.exec(written) ?? []
  const detail = written.includes(':') ? findLabelFault(name, value) : 'must be a name and a value, such as team:ads'
  if (detail !== null) refuse([{ pointer: '/label', detail }])
  return { name, value }
}

/** As for the routes of uploads. */
function mayReadUploads({ permissions }: Pick<ApiKey, 'permissions'>): boolean {
  return permissions.includes('generate')
}

async function findJob(store: Pick<Store, 'getJob'>, accountId: string, jobId: string): Promise<Job> {
  const job = await store.getJob(accountId, jobId)
  if (!job) throw jobNotFound(jobId)
  return job
}

function jobNotFound(jobId: string): MediagenError {
  return new MediagenError('job_not_found', `There is no job "${jobId}".`)
}

function notEnded(jobId: string, status: JobStatus): MediagenError {
  const advice =
    status === 'needs_review'
      ? 'is under review. It can be deleted once that is over.'
      : `is ${status}. Cancel it first, then delete it once it has ended.`
  return new MediagenError('job_not_ended', `The job "${jobId}" ${advice}`)
}
