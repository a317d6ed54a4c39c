// Starting generations: the replay check, the limits, the hold and the queued job. Starts that are requested together share a
// transaction: one round trip loads what they need, another one writes and commits.
import { lastQueuePosition } from '../../../core/jobs/fair-queue.ts'
import type { Job } from '../../../core/jobs/job.ts'
import { toLabelsText } from '../../../core/jobs/labels.ts'
import { decideStart, type StartWrites } from '../../../core/jobs/start.ts'
import type { StartCommand, StartOutcome } from '../../../core/store.ts'
import { toStartedJob, toStartTexts } from '../../job-rows.ts'
import { readLimits, readSpending } from '../accounts/budgets.ts'
import { lockAccounts, post } from '../accounts/ledger.ts'
import type { Writing } from '../writing.ts'
import { positionedColumns, type PositionedRow, readPositions, toPositioned } from './jobs.ts'
import { readShares, shareOf, writeShares } from './run-ends.ts'

type Earlier = PositionedRow & { readonly idempotencyKey: string; readonly requestDigest: Buffer }
type Started = {
  readonly job: Job
  readonly command: StartCommand
  readonly number: number
  readonly ordinal: number
  readonly writes: StartWrites
}

/** The outcome of a start; a wrong command fails alone, with its own error. */
export type StartAnswer = StartOutcome | Error

/** Starts generations, in order. The positions of new jobs arrive with the commit. */
export async function startGenerations(
  tx: Writing,
  commands: readonly StartCommand[],
): Promise<{ readonly answers: readonly StartAnswer[]; readonly positions: Promise<ReadonlyMap<string, number>> }> {
  const accountIds = commands.map(({ accountId }) => accountId)
  const models = commands.map(({ model }) => model)
  const keys = commands.map(({ idempotencyKey }) => idempotencyKey)
  const keyIds = commands.map(({ keyId }) => keyId)
  const values = { accountIds, models, keys }
  const [accounts, earlier, shares, allLimits, numbers, nowMs] = await Promise.all([
    lockAccounts(tx, 'account_id = ANY(:accountIds)', { accountIds }),
    tx.rows<Earlier>(
      `SELECT ${positionedColumns}, idempotency_key AS idempotencyKey, request_digest AS requestDigest FROM jobs
       WHERE (account_id, idempotency_key) IN (SELECT * FROM unnest(:accountIds::text[], :keys::text[]))`,
      values,
    ),
    readShares(tx, 'unnest(:models::text[], :accountIds::text[]) AS u (model, account_id)', values),
    readLimits(tx, accountIds, keyIds),
    tx.rows<{ number: number }>("SELECT nextval('job_numbers') AS number FROM generate_series(1, :count)", {
      count: commands.length,
    }),
    tx.nowMs(),
  ])
  const known = new Map(earlier.map((row) => [JSON.stringify([row.accountId, row.idempotencyKey]), row]))
  const started = new Map<string, Started>()
  const spending = await readSpending(tx, allLimits, nowMs)

  function startOne(command: StartCommand, number: number): StartAnswer {
    const { accountId, keyId, model, idempotencyKey, requestDigest } = command
    const name = JSON.stringify([accountId, idempotencyKey])
    const [row, mine] = [known.get(name), started.get(name)]
    const before = row?.requestDigest ?? mine?.command.requestDigest
    const job = row ? toPositioned(row) : mine?.job
    const limits = spending.find(accountId, keyId)
    const state = {
      budgets: limits ? spending.budgets(limits) : [],
      earlier: job && before ? { job, same: before.equals(requestDigest) } : null,
      account: accounts.get(accountId) ?? null,
      share: shareOf(shares, model, accountId),
    }
    const decision = decideStart(state, command, nowMs)
    if (decision.outcome !== 'created') return decision
    const { writes, account } = decision
    const made = toStartedJob(command, { jobId: tx.ids.next('job'), createdAtMs: writes.createdAtMs })
    const ordinal = account.jobCount + 1
    started.set(name, { job: made, command, number, ordinal, writes })
    // The next start sees what this one writes.
    if (limits) spending.hold(limits, writes.day, command.credits)
    const after = writes.postings.at(-1)?.after ?? account
    accounts.set(accountId, { ...account, ...after, jobCount: ordinal, queuedJobs: account.queuedJobs + 1 })
    shares.set(JSON.stringify([model, accountId]), {
      virtualTime: state.share?.virtualTime ?? 0,
      finish: writes.finish,
    })
    tx.queued(made.jobId)
    return { outcome: 'created', job: made }
  }

  // Balances and counts are changed as the starts are decided, entries are numbered as they are written.
  const answers = commands.map((command, index) => orError(() => startOne(command, numbers[index]?.number ?? 0)))
  const made = [...started.values()]
  if (made.length === 0) return { answers, positions: noPositions }
  write(tx, made, accounts, shares, nowMs)
  const jobIds = made.map(({ job }) => job.jobId)
  const positions = readPositions(tx, jobIds)
  // When the transaction fails, they are not awaited.
  positions.catch(() => {})
  return { answers, positions }
}

const noPositions = Promise.resolve(new Map<string, number>())

/** The job of an outcome with its position; the last one when it is not known. */
export function withPosition(answer: StartAnswer, positions: ReadonlyMap<string, number>): StartAnswer {
  if (answer instanceof Error || !('job' in answer) || answer.job.queuePosition !== null) return answer
  if (answer.job.status !== 'queued') return answer
  return { ...answer, job: { ...answer.job, queuePosition: positions.get(answer.job.jobId) ?? lastQueuePosition } }
}

function orError(start: () => StartAnswer): StartAnswer {
  try {
    return start()
  } catch (error) {
    return error as Error
  }
}

function write(
  tx: Writing,
  made: readonly Started[],
  accounts: Parameters<typeof post>[1],
  shares: Parameters<typeof writeShares>[1],
  nowMs: number,
): void {
  // Sorted, so that two transactions that add the same models do not wait for each other.
  const models = [...new Set(made.map(({ command }) => command.model))].toSorted()
  tx.send('INSERT INTO queues (model) SELECT unnest(:models::text[]) ON CONFLICT DO NOTHING', { models })
  const finished = made.map(({ command: { model, accountId }, writes: { finish } }) => ({ model, accountId, finish }))
  writeShares(tx, shares, finished)
  const of = <Value>(read: (one: Started) => Value): Value[] => made.map(read)
  tx.send(
    `INSERT INTO jobs (number, job_id, account_id, ordinal, status, model, quote_id, idempotency_key, request_digest, credits_held, created_at, priority, fair,
       max_attempts, deadline_at, retain_ms, key_id, usage_price, day, labels, trace, webhook_url)
     SELECT number, job_id, account_id, ordinal, 'queued', model, quote_id, idempotency_key, request_digest, credits, :nowMs::bigint, priority, fair,
       max_attempts, deadline_at, retain_ms, key_id, usage_price, day, labels, trace, webhook_url
     FROM unnest(:numbers::bigint[], :jobIds::text[], :accountIds::text[], :ordinals::bigint[], :models::text[], :quoteIds::text[], :keys::text[], :digests::bytea[],
       :credits::bigint[], :priorities::bigint[], :fairs::float8[], :attempts::bigint[], :deadlines::bigint[], :retains::bigint[],
       :keyIds::text[], :prices::text[], :days::text[], :labels::text[], :traces::text[], :webhookUrls::text[])
       AS u (number, job_id, account_id, ordinal, model, quote_id, idempotency_key, request_digest, credits, priority, fair, max_attempts, deadline_at,
         retain_ms, key_id, usage_price, day, labels, trace, webhook_url)`,
    {
      nowMs,
      numbers: of(({ number }) => number),
      jobIds: of(({ job }) => job.jobId),
      accountIds: of(({ command }) => command.accountId),
      ordinals: of(({ ordinal }) => ordinal),
      models: of(({ command }) => command.model),
      quoteIds: of(({ command }) => command.quoteId),
      keys: of(({ command }) => command.idempotencyKey),
      digests: of(({ command }) => command.requestDigest),
      credits: of(({ command }) => command.credits),
      priorities: of(({ command }) => command.priority),
      fairs: of(({ writes }) => writes.fair),
      attempts: of(({ command }) => command.maxAttempts),
      deadlines: of(({ writes }) => writes.deadlineAtMs),
      retains: of(({ command }) => command.retainMs),
      keyIds: of(({ command }) => command.keyId),
      days: of(({ writes }) => writes.day),
      prices: of(({ command }) => toStartTexts(command).usagePrice),
      labels: of(({ command }) => toLabelsText(command.labels)),
      traces: of(({ command }) => command.trace),
      webhookUrls: of(({ command }) => command.webhookUrl),
    },
  )
  tx.send(
    'INSERT INTO job_inputs (number, brief, input, additions) SELECT * FROM unnest(:numbers::bigint[], :briefs::text[], :inputs::text[], :additions::text[])',
    {
      numbers: of(({ number }) => number),
      briefs: of(({ command }) => toStartTexts(command).brief),
      inputs: of(({ command }) => toStartTexts(command).input),
      additions: of(({ command }) => toStartTexts(command).additions),
    },
  )
  const postings = made.map(({ command: { accountId }, job, number, writes }) => ({
    accountId,
    jobNumber: number,
    jobId: job.jobId,
    note: null,
    postings: writes.postings,
  }))
  post(tx, accounts, nowMs, postings)
}
