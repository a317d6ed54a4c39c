// The commands of workers: claim queued jobs, renew claims, report the end of a run. A token fences each claim.
import type { AfterLoss, JsonValue } from '@mediagen/engine/engine.ts'
import { createClaimChoice, type Look, type QueuedCandidate } from '../../../core/jobs/claim-choice.ts'
import type { ClaimedJob, Job, JobOutcome, UsagePrice } from '../../../core/jobs/job.ts'
import { decideFinish, decideHeartbeat, decideReconciled } from '../../../core/jobs/run-end.ts'
import type { ClaimCommand, Heartbeat, HeartbeatOutcome, SavedCheckpoint } from '../../../core/store.ts'
import { jobColumns, type JobRow, type JobState, selectStates, toJob, toRunInput, toRunState } from '../../job-rows.ts'
import { lockAccounts } from '../accounts/ledger.ts'
import type { Writing } from '../writing.ts'
import { endRun, endRuns, type JobEnd, lockJobs, lockRuns } from './run-ends.ts'
import { learnLate, recordRun } from './upstream.ts'

// Only this many jobs from the front of a queue are considered: jobs further back wait for their turn, not for a free slot.
const maxLooked = 1000
const queue = `FROM jobs WHERE status = 'queued' AND available_at IS NULL AND model = :model AND (deadline_at IS NULL OR deadline_at > (SELECT now_ms(:held)))
  AND number <> ALL(:chosen::bigint[])`
const inOrder = 'ORDER BY priority DESC, fair, number'
const candidate = 'number, priority, fair AS key, account_id AS account'
const others = 'account_id <> ALL(:except::text[])'
const next = `SELECT ${candidate} ${queue} ${inOrder} LIMIT :most`
const nextOfOthers = `SELECT ${candidate} ${queue} AND ${others} ${inOrder} LIMIT :most`
const soonOfOthers = `SELECT ${candidate} FROM (SELECT number, priority, fair, account_id ${queue} ${inOrder} LIMIT ${maxLooked}) AS first
  WHERE ${others} ${inOrder} LIMIT :most`

type Found = Omit<QueuedCandidate, 'model' | 'virtualTime'>

/** Claims queued jobs. Claimers of a model take turns. */
export async function claimJobs(tx: Writing, command: ClaimCommand): Promise<readonly ClaimedJob[]> {
  const models = Object.keys(command.room).toSorted()
  const locked = tx.rows(
    "SELECT pg_advisory_xact_lock(hashtextextended('mediagen queue ' || model, 0)) FROM unnest(:models::text[]) AS model",
    { models },
  )
  // After the locks, in a statement of its own, which sees what was committed meanwhile.
  const times = tx.rows<{ model: string; virtualTime: number }>(
    'SELECT model, virtual_time AS virtualTime FROM queues WHERE model = ANY(:models)',
    { models },
  )
  const choice = createClaimChoice(command)
  const chosen: QueuedCandidate[] = []
  const virtualTimes = new Map<string, number>()
  for (let look = choice.look(); look !== null; look = choice.look()) {
    // The first look travels with the locks.
    const [found, known] = await Promise.all([findCandidates(tx, look, chosen), times, locked])
    for (const { model, virtualTime } of known) virtualTimes.set(model, virtualTimes.get(model) ?? virtualTime)
    const taken = choice.choose(found.map((one) => ({ ...one, virtualTime: virtualTimes.get(one.model) ?? 0 })))
    chosen.push(...taken)
    for (const { model, key } of taken) virtualTimes.set(model, Math.max(key, virtualTimes.get(model) ?? 0))
  }
  if (chosen.length > 0) return claimChosen(tx, command, chosen, await tx.nowMs())
  tx.unchanged()
  return []
}

async function findCandidates(
  tx: Writing,
  { room, limit, except, far }: Look,
  chosen: readonly QueuedCandidate[],
): Promise<(Found & { model: string })[]> {
  const sql = except.size === 0 ? next : far ? nextOfOthers : soonOfOthers
  const finding = [...room].map(async ([model, wanted]) => {
    const most = Math.min(wanted, limit)
    if (most <= 0) return []
    const numbers = chosen.flatMap((one) => (one.model === model ? [one.number] : []))
    const rows = await tx.rows<Found>(sql, { model, most, except: [...except], chosen: numbers })
    return rows.map((row) => ({ ...row, model }))
  })
  return (await Promise.all(finding)).flat()
}

type ClaimRow = JobRow & {
  number: number
  trace: string | null
  token: number
  checkpoint: string | null
  afterLoss: AfterLoss
  usagePrice: string | null
  deadlineAtMs: number | null
  input: string
  additions: string | null
  submittedAt: number | null
}

async function claimChosen(
  tx: Writing,
  { worker, leaseMs }: ClaimCommand,
  chosen: readonly QueuedCandidate[],
  nowMs: number,
): Promise<readonly ClaimedJob[]> {
  const numbers = chosen.map(({ number }) => number)
  const locked = lockAccounts(tx, 'account_id = ANY(:accountIds)', {
    accountIds: [...new Set(chosen.map(({ account }) => account))],
  })
  // One that was canceled meanwhile is missing.
  const claiming = tx.rows<ClaimRow>(
    `WITH claimed AS (
     UPDATE jobs SET status = 'running', progress = 0, attempts = attempts + 1, token = token + 1, worker = :worker,
       lease_until = :nowMs::bigint + :leaseMs::bigint, started_at = coalesce(started_at, greatest(:nowMs::bigint, created_at)), sequence = sequence + 1
     WHERE number = ANY(:numbers) AND status = 'queued' AND available_at IS NULL
     RETURNING ${jobColumns}, number, fair, trace, token, checkpoint, after_loss AS afterLoss, usage_price AS usagePrice, deadline_at AS deadlineAtMs,
       (SELECT input FROM job_inputs WHERE number = jobs.number) AS input, (SELECT additions FROM job_inputs WHERE number = jobs.number) AS additions,
       CASE after_loss WHEN 'continue' THEN (SELECT min(submitted_at) FROM upstream_runs WHERE job_number = jobs.number) END AS submittedAt
     ), reached AS (SELECT model, max(fair) AS key FROM claimed GROUP BY model), moved AS (
     UPDATE queues AS q SET virtual_time = r.key FROM reached AS r WHERE q.model = r.model AND q.virtual_time < r.key)
     SELECT * FROM claimed`,
    { worker, leaseMs, nowMs, numbers },
  )
  await locked
  const rows = await claiming
  const byNumber = new Map(rows.map((row) => [row.number, row]))
  const claimed = chosen.flatMap((one) => byNumber.get(one.number) ?? [])
  for (const { jobId } of claimed) tx.changed(jobId)
  return claimed.map((row) => toClaimed(row, nowMs))
}

function toClaimed(row: ClaimRow, nowMs: number): ClaimedJob {
  const { input, additions, checkpoint, usagePrice, afterLoss, token, submittedAt, deadlineAtMs } = row
  return {
    job: toJob(row),
    trace: row.trace,
    input: toRunInput({ input, additions }),
    checkpoint: checkpoint === null ? null : (JSON.parse(checkpoint) as JsonValue),
    usagePrice: usagePrice === null ? null : (JSON.parse(usagePrice) as UsagePrice),
    afterLoss,
    msSinceSubmission: submittedAt === null ? null : Math.max(0, nowMs - submittedAt),
    token,
    msToDeadline: deadlineAtMs === null ? null : deadlineAtMs - nowMs,
  }
}

/** Renews claims, and records progress. */
export async function heartbeat(tx: Writing, beats: readonly Heartbeat[], leaseMs: number): Promise<HeartbeatOutcome> {
  const rows = await tx.rows<JobState>(
    `${selectStates} WHERE job_id = ANY(:jobIds) ORDER BY number FOR NO KEY UPDATE`,
    { jobIds: beats.map(({ jobId }) => jobId) },
  )
  const nowMs = await tx.nowMs()
  const jobs = new Map(rows.map((row) => [row.jobId, row]))
  const outcome = { lost: [] as string[], cancelRequested: [] as string[], deadlinePassed: [] as string[] }
  const renewed: { jobId: string; progress: number | null }[] = []
  for (const beat of beats) {
    const { jobId } = beat
    const decided = decideHeartbeat(toRunState(jobs.get(jobId) ?? null), beat, nowMs)
    if (decided === null) {
      outcome.lost.push(jobId)
      continue
    }
    const { progress, cancel, deadline } = decided
    renewed.push({ jobId, progress })
    if (progress !== null) tx.changed(jobId)
    if (cancel) outcome.cancelRequested.push(jobId)
    if (deadline) outcome.deadlinePassed.push(jobId)
  }
  if (renewed.length > 0)
    tx.send(
      `UPDATE jobs SET lease_until = :until, progress = coalesce(b.progress, jobs.progress),
         sequence = sequence + CASE WHEN b.progress IS NULL THEN 0 ELSE 1 END
       FROM unnest(:jobIds::text[], :progresses::float8[]) AS b (job_id, progress) WHERE jobs.job_id = b.job_id`,
      {
        until: nowMs + leaseMs,
        jobIds: renewed.map(({ jobId }) => jobId),
        progresses: renewed.map(({ progress }) => progress),
      },
    )
  return outcome
}

/** Stores a checkpoint, or uses what an abandoned run reports about its submission. */
export async function saveCheckpoint(
  tx: Writing,
  jobId: string,
  token: number,
  saved: SavedCheckpoint,
): Promise<boolean> {
  const locked = await lockJobs(tx, [jobId])
  const job = locked.jobs.get(jobId)
  if (job?.token !== token) return false
  const nowMs = await tx.nowMs()
  const { afterLoss, upstream } = saved
  const checkpoint = JSON.stringify(saved.checkpoint)
  const { number } = job
  if (job.status === 'running') {
    tx.send('UPDATE jobs SET checkpoint = :checkpoint, after_loss = :afterLoss WHERE number = :number', {
      number,
      checkpoint,
      afterLoss,
    })
    if (upstream) recordRun(tx, number, upstream, nowMs)
    return true
  }
  // A submission that is still planned is not made: the run learns that it has lost the job.
  if (!upstream || upstream.verdict === 'submitting' || job.status === 'queued') return false
  recordRun(tx, number, upstream, nowMs)
  const end = decideReconciled(toRunState(job), saved, nowMs)
  if (end) await endRun(tx, locked, job, end, nowMs, { checkpoint, afterLoss })
  else if (job.status !== 'needs_review' && job.status !== 'succeeded') learnLate(tx, number, checkpoint, nowMs)
  return false
}

export async function showPreview(tx: Writing, jobId: string, token: number, key: string): Promise<boolean> {
  const shown = await tx.change(
    "UPDATE jobs SET preview_key = :key, sequence = sequence + 1 WHERE job_id = :jobId AND token = :token AND status = 'running'",
    { jobId, token, key },
  )
  if (shown > 0) tx.changed(jobId)
  return shown > 0
}

/** The end of a run, as its worker reports it. */
export interface Finish {
  readonly jobId: string
  readonly token: number
  readonly outcome: JobOutcome
}

/** Ends runs, in order; those that are reported together share a transaction. Null for a stale report. */
export async function finishJobs(tx: Writing, finishes: readonly Finish[]): Promise<readonly (Job | null)[]> {
  const locked = await lockRuns(
    tx,
    finishes.map(({ jobId }) => jobId),
  )
  const nowMs = await tx.nowMs()
  const ends = new Map<string, JobEnd>()
  const accepted = finishes.map(({ jobId, token, outcome }) => {
    const job = locked.jobs.get(jobId)
    const end = decideFinish(toRunState(job ?? null), token, outcome, nowMs)
    if (job === undefined || end === null || ends.has(jobId)) return false
    ends.set(jobId, { job, end })
    return true
  })
  const ended = await endRuns(tx, locked, [...ends.values()], nowMs)
  const jobs = new Map(ended.map((job) => [job.jobId, job]))
  return finishes.map(({ jobId }, index) => (accepted[index] ? (jobs.get(jobId) ?? null) : null))
}
