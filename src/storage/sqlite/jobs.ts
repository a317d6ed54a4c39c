// Jobs: their rows and reads. Changes of jobs are in starts, claims, cancellations and settlement.
import type { AfterLoss, JsonObject } from '@mediagen/engine/engine.ts'
import type { Asset } from '@mediagen/core/asset.ts'
import type { Job, JobError, OperatorJob } from '@mediagen/core/job.ts'
import type { Page } from '@mediagen/core/page.ts'
import type { JobFilter, StartedJob } from '@mediagen/core/store.ts'
import type { Connection } from './connection.ts'
import { createPages, ofAccount } from './pages.ts'
import { createPositionFinder, type Place } from './positions.ts'
import { createUpstreamReads } from './upstream.ts'

/** The row of a job. */
export interface JobRow extends Omit<Job, 'outputs' | 'outputsGone' | 'error' | 'cancelRequested' | 'queuePosition'> {
  readonly outputs: string
  readonly outputsGone: number
  readonly error: string | null
  readonly cancelRequested: number
}

/** The columns of a `JobRow`. */
export const jobColumns = `job_id AS jobId, account_id AS accountId, status, model, quote_id AS quoteId, progress,
  credits_held AS creditsHeld, credits_charged AS creditsCharged, credits_released AS creditsReleased, outputs,
  iif(outputs = '[]', NULL, expires_at) AS outputsExpireAtMs, outputs_gone AS outputsGone, deleted_at AS deletedAtMs, error, attempts,
  created_at AS createdAtMs, started_at AS startedAtMs, finished_at AS finishedAtMs, cancel_requested AS cancelRequested,
  preview_key AS previewKey, sequence, CASE WHEN status = 'succeeded' THEN (
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

const stateColumns = `job_id AS jobId, account_id AS accountId, status, model, progress, credits_held AS creditsHeld, outputs, attempts,
  created_at AS createdAtMs, started_at AS startedAtMs, finished_at AS finishedAtMs, cancel_requested AS cancelRequested,
  deleted_at AS deletedAtMs, number, token, after_loss AS afterLoss, max_attempts AS maxAttempts, lost_runs AS lostRuns, deadline_at AS deadlineAtMs`

/** Selects `JobState`s. */
export const selectStates = `SELECT ${stateColumns} FROM jobs`

/** Creates a function that reads a job in a transaction. */
export function createJobFinder(db: Connection): (jobId: string) => JobState | null {
  const find = db.prepare<[string], JobState>(`${selectStates} WHERE job_id = ?`)
  return (jobId) => find.get(jobId) ?? null
}

/** Whether a run has left files. */
export function hasOutputs({ outputs }: Pick<JobRow, 'outputs'>): boolean {
  return outputs !== '[]'
}

/** Turns a row into the port's record; the queue position of a queued job is read separately. */
export function toJob(row: JobRow, queuePosition: number | null = null): Job {
  return {
    jobId: row.jobId,
    accountId: row.accountId,
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
    sequence: row.sequence,
    queuePosition,
  }
}

/** A row with the fields that determine its queue position. */
type PlacedRow = JobRow & Place

const placedColumns = `${jobColumns}, number, priority, fair`

/** Creates the reads of jobs. */
export function createJobReads(db: Connection) {
  const find = db.prepare<[string], PlacedRow>(`SELECT ${placedColumns} FROM jobs WHERE job_id = ?`)
  const findStarted = db.prepare<[string, string], PlacedRow & { requestDigest: Buffer }>(
    `SELECT ${placedColumns}, request_digest AS requestDigest FROM jobs WHERE account_id = ? AND idempotency_key = ?`,
  )
  const sequences = db
    .prepare<[string], [string, number]>(
      'SELECT job_id, sequence FROM jobs WHERE job_id IN (SELECT value FROM json_each(?))',
    )
    .raw()
  const findInput = db
    .prepare<[string], string>('SELECT input FROM job_inputs JOIN jobs USING (number) WHERE job_id = ?')
    .pluck()
  const briefInputs = db
    .prepare<[string], [string, string]>(
      `SELECT job_id, coalesce(brief, input) FROM job_inputs JOIN jobs USING (number)
       WHERE job_id IN (SELECT value FROM json_each(?))`,
    )
    .raw()
  const findPosition = createPositionFinder(db)
  const toPlaced = (row: PlacedRow): Job => toJob(row, row.status === 'queued' ? findPosition(row) : null)

  return {
    getJob(accountId: string | null, jobId: string): Job | null {
      const row = find.get(jobId)
      return row === undefined || (accountId !== null && row.accountId !== accountId) ? null : toPlaced(row)
    },
    findStartedJob(accountId: string, idempotencyKey: string): StartedJob | null {
      const row = findStarted.get(accountId, idempotencyKey)
      return row === undefined ? null : { job: toPlaced(row), requestDigest: row.requestDigest }
    },
    /** Adds the queue position to a record from the writer; the row is read again only if needed. */
    place(job: Job, known?: Place): Job {
      if (job.status !== 'queued') return job
      if (known) return { ...job, queuePosition: findPosition(known) }
      const row = find.get(job.jobId)
      // The job was the next one, so a worker may have claimed it meanwhile.
      return { ...job, queuePosition: row?.status === 'queued' ? findPosition(row) : 1 }
    },
    getInput(jobId: string): JsonObject | null {
      const input = findInput.get(jobId)
      return input === undefined ? null : (JSON.parse(input) as JsonObject)
    },
    listBriefInputs: (jobIds: readonly string[]): ReadonlyMap<string, JsonObject> =>
      new Map(
        briefInputs.all(JSON.stringify(jobIds)).map(([jobId, input]) => [jobId, JSON.parse(input) as JsonObject]),
      ),
    readSequences: (jobIds: readonly string[]): ReadonlyMap<string, number> =>
      new Map(sequences.all(JSON.stringify(jobIds))),
    inspectJob: createInspector(db, toPlaced),
    listJobs: createJobLister(db, toPlaced),
  }
}

type InspectedRow = PlacedRow & Omit<OperatorJob, 'job' | 'upstreamRuns'>

function createInspector(db: Connection, toPlaced: (row: PlacedRow) => Job): (jobId: string) => OperatorJob | null {
  const find = db.prepare<[string], InspectedRow>(
    `SELECT ${placedColumns}, key_id AS keyId, after_loss AS afterLoss, max_attempts AS maxAttempts, lost_runs AS lostRuns, deadline_at AS deadlineAtMs,
       available_at AS availableAtMs, worker, lease_until AS leaseUntilMs FROM jobs WHERE job_id = ?`,
  )
  const listUpstreamRuns = createUpstreamReads(db)
  return (jobId) => {
    const row = find.get(jobId)
    if (row === undefined) return null
    const { keyId, priority, deadlineAtMs, afterLoss, maxAttempts, lostRuns, availableAtMs, worker, leaseUntilMs } = row
    return {
      job: toPlaced(row),
      keyId,
      priority,
      deadlineAtMs,
      afterLoss,
      maxAttempts,
      lostRuns,
      availableAtMs,
      worker,
      leaseUntilMs,
      upstreamRuns: listUpstreamRuns(row.number),
    }
  }
}

function createJobLister(db: Connection, toPlaced: (row: PlacedRow) => Job): (filter: JobFilter) => Page<Job> {
  const pages = createPages<PlacedRow>(db, placedColumns, 'jobs', 'number')
  const countDeleted = db
    .prepare<[string], number>('SELECT count(*) FROM jobs WHERE account_id = ? AND deleted_at IS NOT NULL')
    .pluck()
  const countOf = db.prepare<[string], number>('SELECT job_count FROM accounts WHERE account_id = ?').pluck()
  const countEverything = db.prepare<[], number>('SELECT coalesce(sum(job_count), 0) FROM accounts').pluck()
  const countAll = (accountId: string | null, withDeleted: boolean) => {
    if (accountId === null) return countEverything.get() ?? 0
    return (countOf.get(accountId) ?? 0) - (withDeleted ? 0 : (countDeleted.get(accountId) ?? 0))
  }

  return (filter) => {
    const { accountId, status, model, idempotencyKey, search, withDeleted } = filter
    const values = { ...filter, pattern: `%${(search ?? '').replaceAll(/[\\%_]/g, String.raw`\$&`)}%` }
    const which = ofAccount(accountId)
    if (!withDeleted) which.push('deleted_at IS NULL')
    if (idempotencyKey !== null) which.push('idempotency_key = :idempotencyKey')
    if (model !== null) which.push('model = :model')
    if (search !== null) which.push(hasWords)
    const inState: string[] = []
    // For all accounts the state is a literal in the statement, so the planner can use the partial indexes.
    if (status !== null) inState.push(accountId === null ? `status = '${status}'` : 'status = :status')
    // Tells the planner that the partial index contains all of them.
    if (status !== null && status !== 'succeeded') inState.push(notSucceeded)

    /** Exact, without reading rows: jobs that are not in the index of other states have succeeded. */
    function count(): number {
      if (idempotencyKey !== null || (status !== null && status !== 'succeeded'))
        return pages.count([...which, ...inState], values)
      const all = model === null && search === null ? countAll(accountId, withDeleted) : pages.count(which, values)
      return status === null ? all : all - pages.count([...which, notSucceeded], values)
    }
    const { items, total } = pages.read([...which, ...inState], values, filter, count)
    return { items: items.map(toPlaced), total }
  }
}

const notSucceeded = "status <> 'succeeded'"

// A text anywhere in the small values of the input.
const hasWords = String.raw`EXISTS (
  SELECT 1 FROM job_inputs AS i, json_tree(coalesce(i.brief, i.input)) AS value
  WHERE i.number = jobs.number AND value.type = 'text' AND value.atom LIKE :pattern ESCAPE '\')`
