// Starting a generation: the replay check, the limits, the hold and the queued job, in one transaction.
import { decideStart } from '@mediagen/core/start.ts'
import type { Job } from '@mediagen/core/job.ts'
import type { StartCommand, StartOutcome } from '@mediagen/core/store.ts'
import { createAccountFinder } from './accounts.ts'
import { jobColumns, toJob, toStartedJob, toStartTexts, type JobRow, type Place } from '../job-rows.ts'
import { createLedgerWriter } from './ledger.ts'
import { createQueueShares } from './queue-shares.ts'
import type { Writing } from './writing.ts'

/** A start in the form that crosses threads: text clones faster than objects and buffers. */
export interface StartRequest extends Omit<StartCommand, 'input' | 'requestDigest' | 'usagePrice'> {
  /** JSON */
  readonly input: string
  /** JSON of the input without its large values; null if it has none. */
  readonly brief: string | null
  /** JSON */
  readonly usagePrice: string | null
  /** In Latin-1, a character for each byte */
  readonly requestDigest: string
}

/** Packs a start for the writer thread. */
export function toStartRequest(command: StartCommand): StartRequest {
  return { ...command, ...toStartTexts(command), requestDigest: command.requestDigest.toString('latin1') }
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
      const { accountId, model, idempotencyKey, credits } = request
      const digest = Buffer.from(request.requestDigest, 'latin1')
      const found = findStarted.get(accountId, idempotencyKey)
      const earlier = found === undefined ? null : { job: found, same: found.requestDigest.equals(digest) }
      const share = shares.read(model, accountId)
      const decision = decideStart({ earlier, account: findAccount(accountId), share }, request, nowMs())
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
        request.quoteId,
        idempotencyKey,
        digest,
        credits,
        createdAtMs,
        request.priority,
        fair,
        request.maxAttempts,
        deadlineAtMs,
        request.retainMs,
        request.keyId,
        request.usagePrice,
      )
      const number = Number(lastInsertRowid)
      insertInput.run(number, request.brief, request.input)
      post(decision.account, postings, number, null)
      changed(jobId)
      return { outcome: 'created', jobId, createdAtMs, number, fair }
    },
  }
}
