// Rows of jobs as every engine of storage selects them, and the records that they make.
import type { AfterLoss, JsonObject } from '@mediagen/engine/engine.ts'
import type { AuditDraft } from '../core/accounts/audit.ts'
import type { Asset } from '../core/files/asset.ts'
import { briefInput } from '../core/jobs/job-input.ts'
import type { Job, JobError, OperatorJob, RecordedUpstreamRun } from '../core/jobs/job.ts'
import { parseLabels, toLabelsText } from '../core/jobs/labels.ts'
import { addAll, type Additions, type MadeBy, type StoredInput } from '../core/jobs/reproduction.ts'
import type { RunState } from '../core/jobs/run-end.ts'
import type { JobFilter, StartCommand } from '../core/store.ts'

export interface JobRow extends Omit<
  Job,
  'outputs' | 'outputsGone' | 'error' | 'cancelRequested' | 'queuePosition' | 'madeBy' | 'labels'
> {
  readonly outputs: string
  readonly outputsGone: number
  readonly error: string | null
  readonly cancelRequested: number
  readonly madeBy: string | null
  readonly labels: string | null
}

export const jobColumns = `job_id AS jobId, account_id AS accountId, key_id AS keyId, (SELECT name FROM api_keys AS k WHERE k.key_id = jobs.key_id) AS keyName, status, model, quote_id AS quoteId, progress,
  credits_held AS creditsHeld, credits_charged AS creditsCharged, credits_released AS creditsReleased, outputs,
  CASE WHEN outputs <> '[]' THEN expires_at END AS outputsExpireAtMs, outputs_gone AS outputsGone, deleted_at AS deletedAtMs, error, attempts,
  created_at AS createdAtMs, started_at AS startedAtMs, finished_at AS finishedAtMs, cancel_requested AS cancelRequested,
  preview_key AS previewKey, made_by AS madeBy, labels, sequence, CASE WHEN status = 'succeeded' THEN (
    SELECT provider FROM upstream_runs WHERE job_number = jobs.number AND verdict = 'succeeded' ORDER BY n DESC LIMIT 1
  ) END AS servedBy`

/** The fields of a job by which commands decide. */
export interface JobState extends Pick<
  JobRow,
  | 'jobId'
  | 'accountId'
  | 'status'
  | 'model'
  | 'progress'
  | 'creditsHeld'
  | 'outputs'
  | 'error'
  | 'attempts'
  | 'createdAtMs'
  | 'startedAtMs'
  | 'finishedAtMs'
  | 'cancelRequested'
  | 'deletedAtMs'
> {
  readonly number: number
  readonly token: number
  readonly afterLoss: AfterLoss
  readonly maxAttempts: number
  readonly lostRuns: number
  readonly deadlineAtMs: number | null
}

export const selectStates = `SELECT job_id AS jobId, account_id AS accountId, status, model, progress, credits_held AS creditsHeld, outputs, error, attempts,
  created_at AS createdAtMs, started_at AS startedAtMs, finished_at AS finishedAtMs, cancel_requested AS cancelRequested,
  deleted_at AS deletedAtMs, number, token, after_loss AS afterLoss, max_attempts AS maxAttempts, lost_runs AS lostRuns, deadline_at AS deadlineAtMs FROM jobs`

/** The facts about a job that the rules need. */
export function toRunState(job: JobState): RunState
export function toRunState(job: JobState | null): RunState | null
export function toRunState(job: JobState | null): RunState | null {
  return job && { ...job, cancelRequested: job.cancelRequested === 1 }
}

/** What the audit keeps of an operator's cancel. */
export function cancelAudit({ jobId, accountId, status }: JobState, after: Job, reason: string | null): AuditDraft {
  const { status: now, cancelRequested: cancel_requested } = after
  return {
    act: 'job.canceled',
    subject: jobId,
    accountId,
    before: { status },
    after: { status: now, cancel_requested, ...(reason !== null && { reason }) },
  }
}

/** The code of the error of a job; null without one. */
export function toErrorCode({ error }: Pick<JobRow, 'error'>): string | null {
  return error === null ? null : (JSON.parse(error) as JobError).code
}

/** The fields that determine the position of a queued job. */
export interface QueueKey {
  readonly model: string
  readonly number: number
  readonly priority: number
  readonly fair: number
}

/** A row with the fields that determine its queue position. */
export type QueueRow = JobRow & QueueKey

export const queueColumns = `${jobColumns}, number, priority, fair`

/** Turns a row into the port's record. */
export function toJob(row: JobRow, queuePosition: number | null = null): Job {
  return {
    jobId: row.jobId,
    accountId: row.accountId,
    keyId: row.keyId,
    keyName: row.keyName,
    status: row.status,
    model: row.model,
    quoteId: row.quoteId,
    progress: row.progress,
    creditsHeld: row.creditsHeld,
    creditsCharged: row.creditsCharged,
    creditsReleased: row.creditsReleased,
    outputs: JSON.parse(row.outputs) as Asset[],
    outputsExpireAtMs: row.outputsExpireAtMs,
    outputsGone: row.outputsGone > 0,
    deletedAtMs: row.deletedAtMs,
    error: row.error === null ? null : (JSON.parse(row.error) as JobError),
    attempts: row.attempts,
    createdAtMs: row.createdAtMs,
    startedAtMs: row.startedAtMs,
    finishedAtMs: row.finishedAtMs,
    cancelRequested: row.cancelRequested === 1,
    previewKey: row.previewKey,
    servedBy: row.servedBy,
    madeBy: row.madeBy === null ? null : (JSON.parse(row.madeBy) as MadeBy),
    labels: parseLabels(row.labels),
    sequence: row.sequence,
    queuePosition,
  }
}

/** The record of a newly queued job without its position. */
export function toStartedJob(
  { accountId, keyId, keyName, model, quoteId, credits, labels }: StartCommand,
  { jobId, createdAtMs }: Pick<Job, 'jobId' | 'createdAtMs'>,
): Job {
  return { ...untouched, jobId, accountId, keyId, keyName, model, quoteId, labels, creditsHeld: credits, createdAtMs }
}

/** The texts that a start stores, as JSON, and the JSON of the input without its large values; null if it has none. */
export function toStartTexts({
  input,
  additions,
  usagePrice,
  labels,
}: Pick<StartCommand, 'input' | 'additions' | 'usagePrice' | 'labels'>) {
  const brief = briefInput(input)
  return {
    input: JSON.stringify(input),
    brief: brief === input ? null : JSON.stringify(brief),
    additions: Object.keys(additions).length === 0 ? null : JSON.stringify(additions),
    usagePrice: usagePrice && JSON.stringify(usagePrice),
    labels: toLabelsText(labels),
  }
}

/** A job with the fields that only an operator sees. */
export type InspectedRow = QueueRow & Omit<OperatorJob, 'job' | 'upstreamRuns'>

export const inspectedColumns = `${queueColumns}, after_loss AS afterLoss, max_attempts AS maxAttempts, lost_runs AS lostRuns, deadline_at AS deadlineAtMs,
  available_at AS availableAtMs, worker, lease_until AS leaseUntilMs`

/** Turns such a row into the port's record. */
export function toOperatorJob(row: InspectedRow, job: Job, upstreamRuns: readonly RecordedUpstreamRun[]): OperatorJob {
  const { priority, deadlineAtMs, afterLoss, maxAttempts, lostRuns, availableAtMs, worker, leaseUntilMs } = row
  const terms = { priority, deadlineAtMs, afterLoss, maxAttempts, lostRuns, availableAtMs, worker, leaseUntilMs }
  return { job, ...terms, upstreamRuns }
}

/** The row of a submission to another server. */
export type UpstreamRow = Omit<RecordedUpstreamRun, 'cost'> & {
  text: string | null
  amount: number | null
  currency: string | null
}

export const upstreamColumns = `n, provider, upstream_id AS upstreamId, verdict, submitted_at AS submittedAtMs, ended_at AS endedAtMs,
  cost AS text, cost_amount AS amount, cost_currency AS currency`

/** Turns such a row into the port's record. */
export function toUpstreamRun({ text, amount, currency, ...run }: UpstreamRow): RecordedUpstreamRun {
  return { ...run, cost: text === null ? null : { text, amount, currency } }
}

/** An input as its row has it, in JSON. */
export interface InputRow {
  readonly input: string
  readonly additions: string | null
}

export function toStoredInput({ input, additions }: InputRow): StoredInput {
  return {
    input: JSON.parse(input) as JsonObject,
    additions: additions === null ? {} : (JSON.parse(additions) as Additions),
  }
}

/** The input that a run has. */
export function toRunInput(row: InputRow): JsonObject {
  return addAll(toStoredInput(row))
}

/** Parses JSON that may be missing. */
export function parseObject(text: string | null): JsonObject | null {
  return text === null ? null : (JSON.parse(text) as JsonObject)
}

/** Whether a list has all jobs of an account: then a page of it is found by the ordinal of its first job. */
export function isWhole<Filter extends JobFilter>(filter: Filter): filter is Filter & { readonly accountId: string } {
  const { accountId, status, model, idempotencyKey, label = null } = filter
  return [status, model, idempotencyKey, label].every((one) => one === null) && accountId !== null
}

/** The column by whose index a list is sorted; both are in the order of the starts. */
export function orderOf({ accountId, status }: Pick<JobFilter, 'accountId' | 'status'>): 'number' | 'ordinal' {
  return accountId !== null && (status === null || status === 'succeeded') ? 'ordinal' : 'number'
}

/** The fields that are equal in every newly queued job: the defaults of the table. */
const untouched = {
  status: 'queued',
  progress: 0,
  creditsCharged: 0,
  creditsReleased: 0,
  outputs: [],
  outputsExpireAtMs: null,
  outputsGone: false,
  deletedAtMs: null,
  error: null,
  attempts: 0,
  startedAtMs: null,
  finishedAtMs: null,
  cancelRequested: false,
  previewKey: null,
  servedBy: null,
  madeBy: null,
  sequence: 1,
  queuePosition: null,
} as const
