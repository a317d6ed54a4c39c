// Starting a generation: the replay check, the limits, the hold and the queued job, in one transaction.
import { decideStart } from '@mediagen/core/start.ts'
import type { Job } from '@mediagen/core/job.ts'
import type { StartCommand, StartOutcome } from '@mediagen/core/store.ts'
import { createAccountFinder } from './accounts.ts'
import { jobColumns, toJob, toStartedJob, toStartTexts, type JobRow, type Place } from '../job-rows.ts'
import { createLedgerWriter } from './ledger.ts'
import { createQueueShares } from './queue-shares.ts'
import type { Writing } from './writing.ts'

/**
 * A start in the form that crosses threads: without names, which would be written and read with every start, and with text in place
 * of objects and buffers.
 */
export type StartRequest = readonly [
  which: readonly [
    accountId: string,
    keyId: string,
    model: string,
    quoteId: string,
    idempotencyKey: string,
    /** In Latin-1, a character for each byte */
    requestDigest: string,
  ],
  terms: readonly [
    credits: number,
    /** JSON */
    usagePrice: string | null,
    maxQueuedJobs: number,
    priority: number,
    expiresInMs: number | null,
    retainMs: number | null,
    maxAttempts: number,
  ],
  /** JSON */
  input: string,
  /** JSON of the input without its large values; null if it has none. */
  brief: string | null,
]

/** Packs a start for the writer thread. */
export function toStartRequest(command: StartCommand): StartRequest {
  const { accountId, keyId, model, quoteId, idempotencyKey, credits } = command
  const { maxQueuedJobs, priority, expiresInMs, retainMs, maxAttempts } = command
  const { input, brief, usagePrice } = toStartTexts(command)
  const digest = command.requestDigest.toString('latin1')
  return [
    [accountId, keyId, model, quoteId, idempotencyKey, digest],
    [credits, usagePrice, maxQueuedJobs, priority, expiresInMs, retainMs, maxAttempts],
    input,
    brief,
  ]
}

/** The result of a start in the form that crosses threads; for a queued job only the fields that the request did not have. */
export type StartAnswer =
  | Exclude<StartOutcome, { outcome: 'created' }>
  | ({ readonly outcome: 'created' } & Pick<Job, 'jobId' | 'createdAtMs'> & Pick<Place, 'number' | 'fair'>)

/** The record of a newly queued job without its position, and the fields that determine the position. */
export function toPlacedJob(
  command: StartCommand,
  answer: Extract<StartAnswer, { outcome: 'created' }>,
): { job: Job; place: Place } {
  const { model, priority } = command
  return { job: toStartedJob(command, answer), place: { model, number: answer.number, priority, fair: answer.fair } }
}

/** Creates the command that starts generations. */
export function createStartCommands(writing: Writing) {
  const { db, nowMs, ids, changed } = writing
  const findAccount = createAccountFinder(db)
  const { post } = createLedgerWriter(writing)
  const findStarted = db.prepare<[string, string], JobRow & { requestDigest: Buffer }>(
    `SELECT ${jobColumns}, request_digest AS requestDigest FROM jobs WHERE account_id = ? AND idempotency_key = ?`,
  )
  const shares = createQueueShares(db)
  const insertJob = db.prepare<(string | number | Buffer | null)[]>(
    `INSERT INTO jobs (job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, credits_held, created_at,
       priority, fair, max_attempts, deadline_at, retain_ms, key_id, usage_price)
     VALUES (?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const insertInput = db.prepare<[number, string | null, string]>(
    'INSERT INTO job_inputs (number, brief, input) VALUES (?, ?, ?)',
  )

  return {
    startGeneration(request: StartRequest): StartAnswer {
      const [which, terms, input, brief] = request
      const [accountId, keyId, model, quoteId, idempotencyKey, requestDigest] = which
      const [credits, usagePrice, maxQueuedJobs, priority, expiresInMs, retainMs, maxAttempts] = terms
      const digest = Buffer.from(requestDigest, 'latin1')
      const found = findStarted.get(accountId, idempotencyKey)
      const earlier = found === undefined ? null : { job: found, same: found.requestDigest.equals(digest) }
      const share = shares.read(model, accountId)
      const decision = decideStart(
        { earlier, account: findAccount(accountId), share },
        { accountId, credits, maxQueuedJobs, expiresInMs },
        nowMs(),
      )
      if (decision.outcome === 'replayed') return { outcome: 'replayed', job: toJob(decision.job) }
      if (decision.outcome !== 'created') return decision

      const { createdAtMs, deadlineAtMs, fair, finish, postings } = decision.writes
      const jobId = ids.next('job')
      if (share === null) shares.open(model)
      shares.write(model, accountId, finish)
      const { lastInsertRowid } = insertJob.run(
        jobId,
        accountId,
        decision.account.jobCount + 1,
        model,
        quoteId,
        idempotencyKey,
        digest,
        credits,
        createdAtMs,
        priority,
        fair,
        maxAttempts,
        deadlineAtMs,
        retainMs,
        keyId,
        usagePrice,
      )
      const number = Number(lastInsertRowid)
      insertInput.run(number, brief, input)
      post(decision.account, postings, number, null)
      changed(jobId)
      return { outcome: 'created', jobId, createdAtMs, number, fair }
    },
  }
}
