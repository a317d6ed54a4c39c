// Starts the jobs of a request once, and waits for them.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { CallOptions } from '@connectrpc/connect'
import { digestParts } from '@mediagen/engine/canonical-json.ts'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { ModelEnd } from '../../gen/mediagen/v1/catalog_pb.ts'
import { type Job, JobStatus, type WatchJobResponse } from '../../gen/mediagen/v1/generation_pb.ts'
import { countCredits } from '../core/credits/ledger.ts'
import { MediagenError } from '../core/errors.ts'
import type { Labels } from '../core/jobs/labels.ts'
import type { CoreClient } from '../gateway/core-client.ts'
import { toMediagenError } from '../gateway/problems/problem.ts'
import type { Group } from './attempts.ts'

/** What to generate. */
export interface Order {
  readonly model: string
  readonly input: JsonObject
  readonly count: number
  readonly labels: Labels
}

/** A job, and whether an earlier request had started it. */
interface Started {
  readonly job: Job
  readonly replayed: boolean
}

/** The jobs of a request, as a client of the services. */
export class Generations {
  readonly #core: Pick<CoreClient, 'generation'>
  readonly #order: Order
  readonly #options: CallOptions
  /** The end of the model, once a job has started and if it is near. */
  modelEnd: ModelEnd | undefined

  constructor(core: Pick<CoreClient, 'generation'>, order: Order, options: CallOptions) {
    this.#core = core
    this.#order = order
    this.#options = options
  }

  /**
   * Starts the jobs under the first of these names that no jobs have yet, or under the last.
   * @param ceiling what all of them may cost together; they have one input, so each costs the same
   * @param input that of the jobs which have the name
   * @throws MediagenError
   */
  async start(bases: Iterable<string>, ceiling: number, input = this.#order.input): Promise<Group> {
    const { count } = this.#order
    // Not the price of now: a repetition finds the jobs of the first request whatever has become of the price.
    const maxCredits = Math.floor(ceiling / count)
    let group: Group = { base: '', maxCredits, count, input }
    try {
      let first: Started | undefined
      let taken: unknown = null
      for (const base of bases) {
        group = { base, maxCredits, count, input }
        try {
          first = await this.#run(group, 0, false)
          if (!first.replayed) break
        } catch (error) {
          // By an equal request whose pictures were other uploads.
          if (toMediagenError(error).code !== 'idempotency_key_reused') throw error
          taken = error
        }
      }
      if (!first) throw taken
      return { ...group, count: await this.#startOthers(group, first) }
    } catch (error) {
      // Otherwise they may have been started: the wait starts them under the same names.
      if (isRefusal(toMediagenError(error))) throw forAll(error, count, ceiling)
    }
    return group
  }

  /** The jobs, ended or after the wait. */
  async awaitEnds(group: Group, signal?: AbortSignal): Promise<Job[]> {
    return this.#runAll(group, true, signal)
  }

  /** The jobs as they are. */
  async find(group: Group): Promise<Job[]> {
    return this.#runAll(group, false)
  }

  /** The changes of a job. */
  watch(jobId: string, signal: AbortSignal): AsyncIterable<WatchJobResponse> {
    return this.#core.generation.watchJob({ jobId }, { ...this.#options, signal })
  }

  /** Cancels the jobs. Returns whether all have ended without a charge. */
  async cancel(group: Group): Promise<boolean> {
    const jobs = await this.find(group)
    await Promise.all(jobs.map(({ jobId }) => this.#core.generation.cancelJob({ jobId }, this.#options)))
    const ends = await this.awaitEnds(group)
    return ends.every(({ status }) => isUncharged(status))
  }

  /** The first job of a group, which another process may have started; null if there is none. */
  async findFirst(base: string): Promise<{ input: JsonObject; startedMs: number; isCanceled: boolean } | null> {
    const { jobs } = await this.#core.generation.listJobs({ idempotencyKey: nameJob(base, 0) }, this.#options)
    const [job] = jobs
    if (!job) return null
    const startedMs = job.createdAt ? timestampMs(job.createdAt) : 0
    return { input: job.input ?? {}, startedMs, isCanceled: job.status === JobStatus.CANCELED }
  }

  /** Starts the others; returns how many there are with the first. */
  async #startOthers(group: Group, first: Started): Promise<number> {
    const started = [first]
    try {
      for (let index = 1; index < group.count; index += 1) started.push(await this.#run(group, index, false))
    } catch (refusal) {
      if (!isRefusal(toMediagenError(refusal))) throw refusal
      // All or none, but what may be charged is waited for and answered with. An earlier request may wait for those that it
      // started: they go on, and the same request once more gets them.
      const own = started.filter(({ replayed }) => !replayed)
      const ends = await Promise.allSettled(own.map(({ job }) => this.#cancel(job.jobId)))
      if (!ends.some((end) => end.status === 'rejected' || end.value)) throw refusal
    }
    return started.length
  }

  /** Whether it was too late. */
  async #cancel(jobId: string): Promise<boolean> {
    const { job } = await this.#core.generation.cancelJob({ jobId }, this.#options)
    return job?.status === JobStatus.SUCCEEDED || job?.status === JobStatus.NEEDS_REVIEW
  }

  async #runAll(group: Group, wait: boolean, signal?: AbortSignal): Promise<Job[]> {
    return Promise.all(
      Array.from({ length: group.count }, async (_, index) => (await this.#run(group, index, wait, signal)).job),
    )
  }

  async #run({ base, maxCredits, input }: Group, index: number, wait: boolean, signal?: AbortSignal): Promise<Started> {
    const { model, labels } = this.#order
    const run = { model, input, labels, maxCredits: BigInt(maxCredits), idempotencyKey: nameJob(base, index), wait }
    const options = { ...this.#options, ...(signal && { signal }) }
    const { job, replayed, modelEnd } = await this.#core.generation.run(run, options)
    this.modelEnd = modelEnd
    if (!job) throw new Error('the core sent no job')
    return { job, replayed }
  }
}

/** The idempotency key of a job. */
function nameJob(base: string, index: number): string {
  return `openai-${base}-${index}`
}

/** The names of equal requests that began in the same ten minutes, in order. The same in every process. */
export function* nameBases(digest: string, period: number, from = 0): Generator<string, never> {
  for (let ordinal = from; ; ordinal += 1) yield digestParts(digest, String(period), String(ordinal))
}

/** Whether a job has ended without a charge. */
function isUncharged(status: JobStatus): boolean {
  return status === JobStatus.CANCELED || status === JobStatus.FAILED || status === JobStatus.EXPIRED
}

/** The refusal of the price of one job, as that of all. */
function forAll(error: unknown, count: number, ceiling: number): unknown {
  const { code, details } = toMediagenError(error)
  if (count === 1 || code !== 'price_above_maximum') return error
  const required = (details.required ?? 0) * count
  return new MediagenError(
    code,
    `${count} of these cost ${countCredits(required)}, and the request allows at most ${ceiling}. Nothing was held.`,
    { required },
    { cause: error },
  )
}

/** Whether it is certain that nothing was started. */
function isRefusal({ code }: MediagenError): boolean {
  return code !== 'internal' && code !== 'shutting_down' && code !== 'storage_unavailable'
}
