// Starting generations: the replay check, the limits, the hold and the queued job. Those of one transaction that follow one another
// are written together.
import type { QueueShare } from '../../../core/jobs/fair-queue.ts'
import type { Job } from '../../../core/jobs/job.ts'
import { decideStart } from '../../../core/jobs/start.ts'
import type { StartCommand, StartOutcome } from '../../../core/store.ts'
import { Spending } from '../../budgets.ts'
import { jobColumns, toJob, toStartedJob, toStartTexts, type JobRow, type QueueKey } from '../../job-rows.ts'
import type { AccountState } from '../../rows.ts'
import { createAccountFinder } from '../accounts/accounts.ts'
import { createBudgetReads } from '../accounts/budgets.ts'
import { createLedgerWriter } from '../accounts/ledger.ts'
import { createRowInsert, type Value } from '../row-insert.ts'
import type { Writing } from '../threads/writing.ts'
import { createQueueShares } from './queue-shares.ts'

/** A start in the form that crosses threads. */
export interface StartRequest extends Omit<
  StartCommand,
  'requestDigest' | 'usagePrice' | 'input' | 'additions' | 'labels'
> {
  /** Hexadecimal: a Buffer may be a view of a large pool, all of which would be cloned. */
  readonly requestDigest: string
  /** JSON. */
  readonly usagePrice: string | null
  /** JSON. */
  readonly input: string
  /** JSON of the input without its large values; null if it has none. */
  readonly brief: string | null
  /** JSON; null for none. */
  readonly additions: string | null
  /** JSON; null for none. */
  readonly labels: string | null
}

/** Packs a start for the writer thread. */
export function toStartRequest(command: StartCommand): StartRequest {
  return { ...command, ...toStartTexts(command), requestDigest: command.requestDigest.toString('hex') }
}

/** A queued job in the form that crosses threads: only what the request did not have. */
interface StartedJob {
  readonly outcome: 'created'
  readonly jobId: string
  readonly createdAtMs: number
  readonly number: number
  readonly fair: number
}

/** The result of a start in the form that crosses threads. */
export type StartAnswer = Exclude<StartOutcome, { outcome: 'created' }> | StartedJob

/** The record of a newly queued job without its position, and the fields that determine the position. */
export function toQueuedJob(command: StartCommand, started: StartedJob): { job: Job; key: QueueKey } {
  const { jobId, createdAtMs, number, fair } = started
  const { model, priority } = command
  return { job: toStartedJob(command, { jobId, createdAtMs }), key: { model, number, priority, fair } }
}

/** An account as earlier starts of the same group leave it; its row is read once and its jobs are written together. */
interface Starter {
  account: AccountState | null
  /** Where its jobs end in the queues of models; null when the model has no queue. */
  readonly shares: Map<string, QueueShare | null>
  /** Models in whose queues it has new jobs. */
  readonly moved: Set<string>
  /** Idempotency keys of jobs that are not written yet. */
  readonly keys: Set<string>
}

/** The values of rows that are not written yet. */
interface Unwritten {
  readonly jobs: Value[]
  readonly inputs: Value[]
  readonly entries: Value[]
}

const insertedColumns = `number, job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, credits_held, created_at,
  priority, fair, max_attempts, deadline_at, retain_ms, key_id, usage_price, day, labels, trace, webhook_url`

export function createStartCommands(writing: Writing) {
  const { db, nowMs, ids, changed } = writing
  const findAccount = createAccountFinder(db)
  const ledger = createLedgerWriter(writing)
  const queues = createQueueShares(db)
  const budgets = createBudgetReads(db)
  const findDigest = db
    .prepare<[string, string], Buffer>('SELECT request_digest FROM jobs WHERE account_id = ? AND idempotency_key = ?')
    .pluck()
  const findJob = db.prepare<[string, string], JobRow>(
    `SELECT ${jobColumns} FROM jobs WHERE account_id = ? AND idempotency_key = ?`,
  )
  const lastNumber = db.prepare<[], number | null>('SELECT max(number) FROM jobs').pluck()
  const insertJobs = createRowInsert(db, 'jobs', insertedColumns)
  const insertInputs = createRowInsert(db, 'job_inputs', 'number, brief, input, additions')

  function findEarlier(accountId: string, key: string, digest: Buffer) {
    const found = findDigest.get(accountId, key)
    return found === undefined ? null : { job: findJob.get(accountId, key) as JobRow, same: found.equals(digest) }
  }

  function findShare({ shares }: Starter, model: string, accountId: string): QueueShare | null {
    let share = shares.get(model)
    if (share === undefined) shares.set(model, (share = queues.read(model, accountId)))
    return share
  }

  function startOne(
    request: StartRequest,
    starter: Starter,
    spending: Spending,
    number: number,
    rows: Unwritten,
  ): StartAnswer {
    const { timeZone, accountId, keyId, model, quoteId, idempotencyKey, requestDigest, credits, usagePrice } = request
    const { maxQueuedJobs, priority, expiresInMs, retainMs, maxAttempts, labels, trace, webhookUrl } = request
    const { input, brief, additions } = request
    const digest = Buffer.from(requestDigest, 'hex')
    const earlier = findEarlier(accountId, idempotencyKey, digest)
    const share = findShare(starter, model, accountId)
    const limits = budgets.load(spending, accountId, keyId, nowMs())
    const terms = { accountId, credits, maxQueuedJobs, expiresInMs, timeZone }
    const state = { earlier, account: starter.account, share, budgets: limits ? spending.budgets(limits) : [] }
    const decision = decideStart(state, terms, nowMs())
    if (decision.outcome === 'replayed') return { outcome: 'replayed', job: toJob(decision.job) }
    if (decision.outcome !== 'created') return decision

    const { createdAtMs, day, deadlineAtMs, fair, finish, postings } = decision.writes
    const { account } = decision
    const jobId = ids.next('job')
    const ordinal = account.jobCount + 1
    rows.jobs.push(number, jobId, accountId, ordinal, 'queued', model, quoteId, idempotencyKey, digest, credits)
    rows.jobs.push(createdAtMs, priority, fair, maxAttempts, deadlineAtMs, retainMs, keyId, usagePrice, day, labels)
    rows.jobs.push(trace, webhookUrl)
    rows.inputs.push(number, brief, input, additions)
    const entries = ledger.toRows(account, postings, { number, jobId }, null)
    rows.entries.push(...entries.rows)
    // What the next start sees.
    if (limits) spending.hold(limits, day, credits)
    if (share === null) queues.open(model)
    starter.shares.set(model, { virtualTime: share?.virtualTime ?? 0, finish })
    starter.moved.add(model)
    starter.keys.add(idempotencyKey)
    const entryCount = account.entryCount + postings.length
    const counts = { entryCount, jobCount: ordinal, queuedJobs: account.queuedJobs + 1 }
    const { ledgerHead } = entries
    starter.account = { ...account, ...postings.at(-1)?.after, ...counts, ledgerHead }
    changed(jobId)
    return { outcome: 'created', jobId, createdAtMs, number, fair }
  }

  return {
    /** Starts generations, in order, each in the state that those before it leave. Their rows are written together. */
    startGenerations(...requests: StartRequest[]): StartAnswer[] {
      const starters = new Map<string, Starter>()
      const spending = new Spending()
      // No other connection can write during this transaction.
      let last = lastNumber.get() ?? 0
      let rows: Unwritten = { jobs: [], inputs: [], entries: [] }

      function write(): void {
        insertJobs(rows.jobs)
        insertInputs(rows.inputs)
        ledger.append(rows.entries)
        rows = { jobs: [], inputs: [], entries: [] }
        for (const { keys } of starters.values()) keys.clear()
      }

      const answers = requests.map((request) => {
        const { accountId, idempotencyKey } = request
        let starter = starters.get(accountId)
        if (starter === undefined) {
          starter = { account: findAccount(accountId), shares: new Map(), moved: new Set(), keys: new Set() }
          starters.set(accountId, starter)
        }
        // A replay finds the job in the table.
        if (starter.keys.has(idempotencyKey)) write()
        const answer = startOne(request, starter, spending, last + 1, rows)
        if (answer.outcome === 'created') last += 1
        return answer
      })
      write()
      for (const [accountId, { shares, moved }] of starters)
        for (const model of moved) queues.write(model, accountId, shares.get(model)?.finish ?? 0)
      return answers
    },
  }
}
