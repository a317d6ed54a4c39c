// Reads of jobs. Changes of jobs are in starts, claims, cancellations and settlement.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Backlog } from '../../../core/jobs/backlog.ts'
import type { Job, OperatorJob } from '../../../core/jobs/job.ts'
import type { StoredInput } from '../../../core/jobs/reproduction.ts'
import type { Page, PageRequest } from '../../../core/page.ts'
import type { JobFilter, StartedJob } from '../../../core/store.ts'
import { type BacklogRow, selectBacklog, toBacklog } from '../../backlog.ts'
import {
  type InputRow,
  inspectedColumns,
  type InspectedRow,
  isWhole,
  type JobState,
  orderOf,
  type QueueKey,
  queueColumns,
  type QueueRow,
  selectStates,
  toJob,
  toOperatorJob,
  toStoredInput,
} from '../../job-rows.ts'
import {
  type Candidate,
  type SearchFilter,
  searchIn,
  type SearchPiece,
  selectCandidates,
  selectLabelled,
  selectLabelledPage,
  toLabelValues,
} from '../../search.ts'
import type { Connection } from '../connection.ts'
import { createPages, ofAccount } from '../pages.ts'
import { createPositionFinder } from './positions.ts'
import { createUpstreamReads } from './upstream.ts'

/** Creates a function that reads a job in a transaction. */
export function createJobFinder(db: Connection): (jobId: string) => JobState | null {
  const find = db.prepare<[string], JobState>(`${selectStates} WHERE job_id = ?`)
  return (jobId) => find.get(jobId) ?? null
}

export function createJobReads(db: Connection, nowMs: () => number) {
  const find = db.prepare<[string], QueueRow>(`SELECT ${queueColumns} FROM jobs WHERE job_id = ?`)
  const findStarted = db.prepare<[string, string], QueueRow & { requestDigest: Buffer }>(
    `SELECT ${queueColumns}, request_digest AS requestDigest FROM jobs WHERE account_id = ? AND idempotency_key = ?`,
  )
  const sequences = db
    .prepare<[string], [string, number]>(
      'SELECT job_id, sequence FROM jobs WHERE job_id IN (SELECT value FROM json_each(?))',
    )
    .raw()
  const findInput = db.prepare<[string], InputRow>(
    'SELECT input, additions FROM job_inputs JOIN jobs USING (number) WHERE job_id = ?',
  )
  const briefInputs = db
    .prepare<[string], [string, string]>(
      `SELECT job_id, coalesce(brief, input) FROM job_inputs JOIN jobs USING (number)
       WHERE job_id IN (SELECT value FROM json_each(?))`,
    )
    .raw()
  const findPosition = createPositionFinder(db)
  const toPositioned = (row: QueueRow): Job => toJob(row, row.status === 'queued' ? findPosition(row) : null)

  return {
    getJob(accountId: string | null, jobId: string): Job | null {
      const row = find.get(jobId)
      return row === undefined || (accountId !== null && row.accountId !== accountId) ? null : toPositioned(row)
    },
    findStartedJob(accountId: string, idempotencyKey: string): StartedJob | null {
      const row = findStarted.get(accountId, idempotencyKey)
      return row === undefined ? null : { job: toPositioned(row), requestDigest: row.requestDigest }
    },
    /** Adds the queue position to a record from the writer; the row is read again only if needed. */
    withPosition(job: Job, known?: QueueKey): Job {
      if (job.status !== 'queued') return job
      if (known) return { ...job, queuePosition: findPosition(known) }
      const row = find.get(job.jobId)
      // The job was the next one, so a worker may have claimed it meanwhile.
      return { ...job, queuePosition: row?.status === 'queued' ? findPosition(row) : 1 }
    },
    getInput(jobId: string): StoredInput | null {
      const row = findInput.get(jobId)
      return row === undefined ? null : toStoredInput(row)
    },
    listBriefInputs: (jobIds: readonly string[]): ReadonlyMap<string, JsonObject> =>
      new Map(
        briefInputs.all(JSON.stringify(jobIds)).map(([jobId, input]) => [jobId, JSON.parse(input) as JsonObject]),
      ),
    readSequences: (jobIds: readonly string[]): ReadonlyMap<string, number> =>
      new Map(sequences.all(JSON.stringify(jobIds))),
    measureBacklog: (): Backlog => toBacklog(db.prepare<[], BacklogRow>(selectBacklog).all(), nowMs()),
    inspectJob: createInspector(db, toPositioned),
    listJobs: createJobLister(db, toPositioned),
    ...createSearchReads(db, toPositioned),
  }
}

function createInspector(db: Connection, toPositioned: (row: QueueRow) => Job): (jobId: string) => OperatorJob | null {
  const find = db.prepare<[string], InspectedRow>(`SELECT ${inspectedColumns} FROM jobs WHERE job_id = ?`)
  const listUpstreamRuns = createUpstreamReads(db)
  return (jobId) => {
    const row = find.get(jobId)
    return row === undefined ? null : toOperatorJob(row, toPositioned(row), listUpstreamRuns(row.number))
  }
}

/** The reads of `searchJobs`, in the thread of lists. */
function createSearchReads(db: Connection, toPositioned: (row: QueueRow) => Job) {
  const listByNumber = db.prepare<[string], QueueRow>(
    `SELECT ${queueColumns} FROM jobs WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number DESC`,
  )
  return {
    searchPiece(filter: SearchFilter, before: number): SearchPiece {
      const candidates = db.prepare<[object], Candidate>(selectCandidates(filter))
      return searchIn(candidates.iterate({ ...filter, ...toLabelValues(filter), before }), filter.search)
    },
    listJobsByNumber: (numbers: readonly number[]): readonly Job[] =>
      db.transaction(() => listByNumber.all(JSON.stringify(numbers)).map(toPositioned))(),
  }
}

function createJobLister(db: Connection, toPositioned: (row: QueueRow) => Job): (filter: JobFilter) => Page<Job> {
  const pagesBy = {
    number: createPages<QueueRow>(db, queueColumns, 'jobs', 'number'),
    ordinal: createPages<QueueRow>(db, queueColumns, 'jobs', 'ordinal'),
  }
  const pagesOf = (numbers: string) =>
    createPages<QueueRow>(db, queueColumns, `(${numbers}) CROSS JOIN jobs ON number = job_number`, 'job_number')
  const labelledPages = pagesOf(selectLabelled)
  const allLabelledPages = pagesOf(selectLabelledPage)
  const countLabelled = db.prepare<[object], number>(`SELECT count(*) FROM (${selectLabelled})`).pluck()
  // Of all accounts: the planner would read every job instead of those that have not succeeded.
  const notSucceededPages = createPages<QueueRow>(db, queueColumns, 'jobs INDEXED BY jobs_by_status', 'number')
  const findFirst = createFirstFinder(db)
  const countDeleted = db
    .prepare<[string], number>(`SELECT count(*) FROM ${deletedJobs} WHERE account_id = ? AND deleted_at IS NOT NULL`)
    .pluck()
  const countOf = db
    .prepare<[string], number>('SELECT job_count - forgotten_count FROM accounts WHERE account_id = ?')
    .pluck()
  const countEverything = db
    .prepare<[], number>('SELECT coalesce(sum(job_count - forgotten_count), 0) FROM accounts')
    .pluck()
  const countAll = (accountId: string | null, withDeleted: boolean) => {
    if (accountId === null) return countEverything.get() ?? 0
    return (countOf.get(accountId) ?? 0) - (withDeleted ? 0 : (countDeleted.get(accountId) ?? 0))
  }

  // An account has a share of the queue of each model that it ever started a job of.
  const findModel = db.prepare<Pick<JobFilter, 'accountId' | 'model'>>(
    'SELECT 1 FROM queue_shares WHERE model = :model AND (:accountId IS NULL OR account_id = :accountId)',
  )

  const list = (filter: JobFilter): Page<Job> => {
    const { accountId, status, model, idempotencyKey, label = null, withDeleted } = filter
    if (model !== null && findModel.get({ accountId, model }) === undefined) return { items: [], total: 0 }
    const isNotSucceeded = status !== null && status !== 'succeeded'
    const unlabelledPages = accountId === null && isNotSucceeded ? notSucceededPages : pagesBy[orderOf(filter)]
    const isAllLabelled = label !== null && status === null && model === null && idempotencyKey === null
    const pages = label === null ? unlabelledPages : isAllLabelled ? allLabelledPages : labelledPages
    const values = { ...filter, ...toLabelValues(filter), skipped: filter.offset, first: 0 }
    const which = ofAccount(accountId)
    if (!withDeleted) which.push('deleted_at IS NULL')
    if (idempotencyKey !== null) which.push('idempotency_key = :idempotencyKey')
    if (model !== null) which.push('model = :model')
    const inState: string[] = []
    // For all accounts the state is a literal in the statement, so the planner can use the partial indexes.
    if (status !== null) inState.push(accountId === null ? `status = '${status}'` : 'status = :status')
    // Tells the planner that the partial index contains all of them.
    if (isNotSucceeded) inState.push(notSucceeded)

    /** Exact, without reading rows: jobs that are not in the index of other states have succeeded. */
    function count(): number {
      if (idempotencyKey !== null || isNotSucceeded) return pages.count([...which, ...inState], values)
      const every = () => (label === null ? countAll(accountId, withDeleted) : (countLabelled.get(values) ?? 0))
      const all = model === null ? every() : pages.count(which, values)
      return status === null ? all : all - pages.count([...which, notSucceeded], values)
    }
    let page: PageRequest = filter
    const from: string[] = []
    if (isWhole(filter)) {
      values.first = findFirst(filter)
      from.push('ordinal <= :first')
      page = { limit: filter.limit, offset: 0 }
    }
    if (isAllLabelled) page = { limit: filter.limit, offset: 0 }
    const { items, total } = pages.read([...which, ...inState, ...from], values, page, count)
    return { items: items.map(toPositioned), total }
  }
  // One read transaction, so that the page is where it was looked for.
  return (filter) => db.transaction(() => list(filter))()
}

/**
 * Creates a function that finds where a page begins: the ordinal of its first job. Ordinals have no gaps down to the newest
 * forgotten one, so only deleted jobs on the way are counted, and what was kept behind forgotten ones.
 */
function createFirstFinder(db: Connection): (filter: JobFilter & { readonly accountId: string }) => number {
  const counts = db.prepare<[string], { jobCount: number; forgottenUpTo: number }>(
    'SELECT job_count AS jobCount, forgotten_up_to AS forgottenUpTo FROM accounts WHERE account_id = ?',
  )
  const deleted = db
    .prepare<[string], number>(
      `SELECT ordinal FROM ${deletedJobs} WHERE account_id = ? AND deleted_at IS NOT NULL ORDER BY ordinal DESC`,
    )
    .pluck()
  const kept = db
    .prepare<[object], number>(
      `SELECT ordinal FROM jobs WHERE account_id = :accountId AND ordinal <= :forgottenUpTo AND (:withDeleted OR deleted_at IS NULL)
       ORDER BY ordinal DESC LIMIT 1 OFFSET :offset`,
    )
    .pluck()

  return ({ accountId, offset, withDeleted }) => {
    const { jobCount, forgottenUpTo } = counts.get(accountId) ?? { jobCount: 0, forgottenUpTo: 0 }
    let first = jobCount - offset
    if (!withDeleted)
      for (const ordinal of deleted.iterate(accountId)) {
        if (ordinal < first || ordinal <= forgottenUpTo) break
        first -= 1
      }
    if (first > forgottenUpTo) return first
    const which = { accountId, forgottenUpTo, withDeleted: Number(withDeleted), offset: forgottenUpTo - first }
    return kept.get(which) ?? 0
  }
}

// Without statistics, or by those of a young database, the planner would walk all jobs of the account.
const deletedJobs = 'jobs INDEXED BY jobs_deleted'
const notSucceeded = "status <> 'succeeded'"
