// Reads of jobs. Changes of jobs are in starts, claims, cancellations and run-ends.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Backlog } from '../../../core/jobs/backlog.ts'
import type { Job, OperatorJob } from '../../../core/jobs/job.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import type { JobFilter, StartedJob } from '../../../core/store.ts'
import { type BacklogRow, selectBacklog, toBacklog } from '../../backlog.ts'
import {
  type InputRow,
  inspectedColumns,
  type InspectedRow,
  isWhole,
  jobColumns,
  type JobRow,
  orderOf,
  toJob,
  toOperatorJob,
  toStoredInput,
  toUpstreamRun,
  upstreamColumns,
  type UpstreamRow,
} from '../../job-rows.ts'
import {
  type Candidate,
  mostListMs,
  pieceBounds,
  searchIn,
  type SearchReads,
  selectCandidates,
  selectLabelled,
  selectLabelledPage,
  toLabelValues,
} from '../../search.ts'
import type { Database, Transaction } from '../connection.ts'
import { countOf, ofAccount, readPage } from '../pages.ts'

/** A row with its position in the queue, if it has one. */
export type PositionedRow = JobRow & { readonly queuePosition: number | null }

// For one row, or a few.
const position = "CASE WHEN status = 'queued' THEN (SELECT nth FROM queue_places(ARRAY[jobs.number])) END"
export const positionedColumns = `${jobColumns}, ${position} AS queuePosition`

/** Adds the positions to rows that are few: those of a model share one walk along its queue. @param rows selects `number` and `status` too */
function withPositions(rows: string): string {
  return `WITH read AS (${rows}) SELECT read.*, nth AS queuePosition FROM read
    LEFT JOIN queue_places(ARRAY(SELECT number FROM read WHERE status = 'queued')) USING (number)`
}

/** The record of a row with its position. */
export function toPositioned(row: PositionedRow): Job {
  return toJob(row, row.queuePosition)
}

/** Reads the positions of queued jobs; others are missing. */
export async function readPositions(
  db: Pick<Transaction, 'rows'>,
  jobIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const sql = "SELECT job_id AS jobId, number, status FROM jobs WHERE job_id = ANY(:jobIds) AND status = 'queued'"
  const rows = await db.rows<{ jobId: string; queuePosition: number }>(withPositions(sql), { jobIds })
  return new Map(rows.map(({ jobId, queuePosition }) => [jobId, queuePosition]))
}

export function createJobReads(db: Database) {
  return {
    async getJob(accountId: string | null, jobId: string): Promise<Job | null> {
      const row = await db.row<PositionedRow>(`SELECT ${positionedColumns} FROM jobs WHERE job_id = :jobId`, { jobId })
      return row === undefined || (accountId !== null && row.accountId !== accountId) ? null : toPositioned(row)
    },
    async findStartedJob(accountId: string, idempotencyKey: string): Promise<StartedJob | null> {
      const row = await db.row<PositionedRow & { requestDigest: Buffer }>(
        `SELECT ${positionedColumns}, request_digest AS requestDigest FROM jobs WHERE account_id = :accountId AND idempotency_key = :idempotencyKey`,
        { accountId, idempotencyKey },
      )
      return row === undefined ? null : { job: toPositioned(row), requestDigest: row.requestDigest }
    },
    async getInput(jobId: string) {
      const sql = 'SELECT input, additions FROM job_inputs JOIN jobs USING (number) WHERE job_id = :jobId'
      const row = await db.row<InputRow>(sql, { jobId })
      return row === undefined ? null : toStoredInput(row)
    },
    async listBriefInputs(jobIds: readonly string[]): Promise<ReadonlyMap<string, JsonObject>> {
      const rows = await db.rows<{ jobId: string; input: string }>(
        'SELECT job_id AS jobId, coalesce(brief, input) AS input FROM job_inputs JOIN jobs USING (number) WHERE job_id = ANY(:jobIds)',
        { jobIds },
      )
      return new Map(rows.map(({ jobId, input }) => [jobId, JSON.parse(input) as JsonObject]))
    },
    async readSequences(jobIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
      const sql = 'SELECT job_id AS jobId, sequence FROM jobs WHERE job_id = ANY(:jobIds)'
      const rows = await db.rows<{ jobId: string; sequence: number }>(sql, { jobIds })
      return new Map(rows.map(({ jobId, sequence }) => [jobId, sequence]))
    },
    async inspectJob(jobId: string): Promise<OperatorJob | null> {
      const row = await db.row<InspectedRow & PositionedRow>(
        `SELECT ${inspectedColumns}, ${position} AS queuePosition FROM jobs WHERE job_id = :jobId`,
        { jobId },
      )
      if (row === undefined) return null
      const runs = await db.rows<UpstreamRow>(
        `SELECT ${upstreamColumns} FROM upstream_runs WHERE job_number = :number ORDER BY n`,
        { number: row.number },
      )
      return toOperatorJob(row, toPositioned(row), runs.map(toUpstreamRun))
    },
    listJobs: (filter: JobFilter) => listJobs(db, filter),
    searches: createSearchReads(db),
    async measureBacklog(): Promise<Backlog> {
      type Row = BacklogRow & { readonly now: number }
      const rows = await db.rows<Row>(`SELECT b.*, now_ms(:held) AS now FROM (${selectBacklog}) AS b`)
      return toBacklog(rows, rows[0]?.now ?? 0)
    },
    /** One seek in the index for each model, however many jobs it has. */
    async listWaitingModels(): Promise<readonly string[]> {
      const next = "SELECT min(model) AS model FROM jobs WHERE status = 'queued' AND available_at IS NULL"
      const rows = await db.rows<{ model: string }>(
        `WITH RECURSIVE waiting AS (
           (${next}) UNION ALL SELECT (${next} AND jobs.model > waiting.model) FROM waiting WHERE waiting.model IS NOT NULL
         )
         SELECT model FROM waiting WHERE model IS NOT NULL`,
      )
      return rows.map(({ model }) => model)
    },
  }
}

const notSucceeded = "status <> 'succeeded'"

function createSearchReads(db: Database): SearchReads {
  return {
    async readPiece(filter, before) {
      // Inputs may be large: no more of them are sent than are looked at.
      const sql = `SELECT number, position, input FROM (
          SELECT *, sum(coalesce(length(input), 0)) OVER (ORDER BY position DESC) - coalesce(length(input), 0) AS earlier
          FROM (${selectCandidates(filter)}) AS candidate
        ) AS candidate WHERE earlier < ${pieceBounds.characters} ORDER BY position DESC`
      return searchIn(
        await db.rows<Candidate>(sql, { ...filter, ...toLabelValues(filter), before }, mostListMs),
        filter.search,
      )
    },
    async listByNumber(numbers) {
      const sql = `SELECT ${jobColumns}, number FROM jobs WHERE number = ANY(:numbers)`
      const rows = await db.rows<PositionedRow>(`${withPositions(sql)} ORDER BY number DESC`, { numbers })
      return rows.map(toPositioned)
    },
  }
}

async function listJobs(db: Database, filter: JobFilter): Promise<Page<Job>> {
  const { accountId, status, model, idempotencyKey, label = null, withDeleted } = filter
  const which = ofAccount(accountId)
  if (!withDeleted) which.push('deleted_at IS NULL')
  if (idempotencyKey !== null) which.push('idempotency_key = :idempotencyKey')
  // An account has a share of the queue of each model that it ever started a job of: without one, nothing is walked.
  if (model !== null)
    which.push(
      'model = :model',
      `EXISTS (SELECT 1 FROM queue_shares WHERE model = :model ${accountId === null ? '' : 'AND account_id = :accountId'})`,
    )
  // The state is a literal in the statement, so the planner can use the partial indexes.
  const inState = status === null ? [] : [`status = '${status}'`]
  if (status !== null && status !== 'succeeded') inState.push(notSucceeded)

  const isAllLabelled = label !== null && status === null && model === null && idempotencyKey === null
  const labelled = (numbers: string): string => `(${numbers}) AS labelled JOIN jobs ON number = job_number`

  /** Exact, without reading rows: jobs that are not in the index of other states have succeeded. */
  function count(): string {
    const jobs = label === null ? 'jobs' : labelled(selectLabelled)
    if (idempotencyKey !== null || (status !== null && status !== 'succeeded'))
      return countOf(jobs, [...which, ...inState])
    const every =
      label === null ? countAll(accountId, withDeleted) : `(${countOf(`(${selectLabelled}) AS labelled`, [])})`
    const all = model === null ? every : `(${countOf(jobs, which)})`
    return `SELECT ${status === null ? all : `${all} - (${countOf(jobs, [...which, notSucceeded])})`}`
  }
  let page: PageRequest = filter
  const from: string[] = []
  if (isWhole(filter)) {
    from.push('ordinal <= (SELECT jobs_page_from(:accountId, :skipped, :withDeleted))')
    page = { limit: filter.limit, offset: 0 }
  }
  if (isAllLabelled) page = { limit: filter.limit, offset: 0 }
  const source =
    label === null
      ? { from: 'jobs', order: orderOf(filter) }
      : { from: labelled(isAllLabelled ? selectLabelledPage : selectLabelled), order: 'job_number' }
  const listing = { columns: `${jobColumns}, number`, ...source, extend: withPositions }
  const values = { ...filter, ...toLabelValues(filter), skipped: filter.offset }
  const where = [...which, ...inState, ...from]
  const { items, total } = await readPage<PositionedRow>(db, listing, where, values, page, count())
  return { items: items.map(toPositioned), total }
}

function countAll(accountId: string | null, withDeleted: boolean): string {
  const all = `(SELECT coalesce(sum(job_count - forgotten_count), 0) FROM accounts ${accountId === null ? '' : 'WHERE account_id = :accountId'})`
  return withDeleted ? all : `${all} - (${countOf('jobs', [...ofAccount(accountId), 'deleted_at IS NOT NULL'])})`
}
