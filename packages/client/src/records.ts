// The records of the REST interface, named. openapi.ts is generated from the document that servers publish (`npm run docs`).
import type { Job as WireJob, ModelDetail as WireModelDetail, Problem as KnownProblem } from './openapi.ts'

export type {
  Account,
  CreatedKey,
  CreatedWebhook,
  Category,
  Delivery,
  Entry,
  File,
  Key,
  LimitedKey,
  Limits,
  LimitState,
  Model,
  Money,
  Output,
  OwnKey,
  Product,
  Quote,
  RotatedWebhook,
  Sample,
  Usage,
  UsageRow,
  Wallet,
  Webhook,
  WebhookTest,
} from './openapi.ts'

/** An error as in RFC 9457. A newer server may have codes that this client does not know. */
export type Problem = Omit<KnownProblem, 'code'> & { code: string }

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** The input of a model; `GET /v1/models/{model}` has its schema. */
export type Input = { readonly [name: string]: Json }

/** A generation; `input` without large values where jobs are listed, null once it was removed. */
export type Job = Omit<WireJob, 'input'> & { input: { [name: string]: Json } | null }

/** A model, and its interface as an OpenAPI document. */
export type ModelDetail = Omit<WireModelDetail, 'openapi'> & { openapi: { [name: string]: Json } }

/** A page of a list. */
export interface Page<Item> {
  readonly data: readonly Item[]
  readonly total: number
  readonly has_more: boolean
}

/** Whether a job has ended: nothing more happens to it, unless an operator resolves its review. */
export function isTerminal({ status }: Pick<Job, 'status'>): boolean {
  return status !== 'queued' && status !== 'running'
}

/** Whether one record of a job was read before another of it. */
export function isOlder(job: Job, than: Job): boolean {
  const [ours, theirs] = [lifeOf(job), lifeOf(than)]
  const different = ours.findIndex((value, index) => value !== theirs[index])
  return different >= 0 && (ours[different] ?? 0) < (theirs[different] ?? 0)
}

/** The progress of a job as numbers to compare in order. A lost run goes back to the queue. */
function lifeOf(job: Job): readonly number[] {
  const ended = !isTerminal(job) ? 0 : job.status === 'needs_review' ? 1 : 2
  return [ended, job.attempts, job.status === 'queued' ? 1 : 0, job.progress]
}
