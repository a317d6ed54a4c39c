// The commands of workers: claim queued jobs, renew claims, report the end of a run. A token fences each claim.
import type { AfterLoss } from '@mediagen/engine/engine.ts'
import { createClaimChoice, type Look, type QueuedCandidate } from '../../../core/jobs/claim-choice.ts'
import type { Job, JobOutcome } from '../../../core/jobs/job.ts'
import { decideFinish, decideHeartbeat, decideReconciled } from '../../../core/jobs/run-end.ts'
import type { ClaimCommand, Heartbeat, HeartbeatOutcome, SavedCheckpoint } from '../../../core/store.ts'
import { jobColumns, toJob, toRunState, type JobRow, type JobState } from '../../job-rows.ts'
import type { Connection } from '../connection.ts'
import type { Writing } from '../threads/writing.ts'
import { createJobFinder } from './jobs.ts'
import { createQueueShares, type QueueShares } from './queue-shares.ts'
import { createRunEnds } from './run-ends.ts'
import { createPendingWork, createUpstreamRuns } from './upstream.ts'

// Only this many jobs from the front of a queue are considered: jobs further back wait for their turn, not for a free slot.
const maxLooked = 1000

/** A claimed job in the form that crosses threads; input, checkpoint and price are JSON. */
export interface ClaimedRow {
  readonly job: Job
  readonly trace: string | null
  readonly input: string
  readonly additions: string | null
  readonly checkpoint: string | null
  readonly usagePrice: string | null
  readonly afterLoss: AfterLoss
  readonly msSinceSubmission: number | null
  readonly token: number
  readonly msToDeadline: number | null
}

export function createClaimCommands(writing: Writing) {
  return {
    claimJobs: createClaim(writing),
    heartbeat: createHeartbeat(writing),
    saveCheckpoint: createCheckpoints(writing),
    showPreview: createPreviews(writing),
    finishJob: createFinish(writing),
  }
}

/** Creates the list of models with claimable jobs: one index seek per model, however many jobs it has. */
export function createWaitingModels(db: Connection): () => readonly string[] {
  const findNext = db
    .prepare<[string], string>(
      "SELECT model FROM jobs WHERE status = 'queued' AND available_at IS NULL AND model > ? ORDER BY model LIMIT 1",
    )
    .pluck()
  return () => {
    const models: string[] = []
    for (let next = findNext.get(''); next !== undefined; next = findNext.get(next)) models.push(next)
    return models
  }
}

type ClaimRow = JobRow &
  Pick<ClaimedRow, 'trace' | 'additions' | 'token' | 'checkpoint' | 'afterLoss' | 'usagePrice'> & {
    deadlineAtMs: number | null
    input: string | null
  }

/** Finds the next jobs of models, so many of each, without those of some accounts. */
function createCandidates({ db, nowMs }: Writing, shares: QueueShares) {
  const createNext = (from: string) =>
    db.prepare<
      { model: string; nowMs: number; limit: number; except?: string },
      Omit<QueuedCandidate, 'virtualTime' | 'model'>
    >(
      `SELECT number, priority, fair AS key, account_id AS account FROM ${from}
       ORDER BY priority DESC, fair, number LIMIT :limit`,
    )
  const queue = `jobs WHERE status = 'queued' AND available_at IS NULL AND model = :model AND (deadline_at IS NULL OR deadline_at > :nowMs)`
  const others = 'account_id NOT IN (SELECT value FROM json_each(:except))'
  const first = `SELECT number, priority, fair, account_id FROM ${queue} ORDER BY priority DESC, fair, number LIMIT ${maxLooked}`
  const next = createNext(queue)
  const nextOfOthers = createNext(`${queue} AND ${others}`)
  const soonOfOthers = createNext(`(${first}) WHERE ${others}`)

  return ({ room, limit, except, far }: Look): QueuedCandidate[] => {
    const names = except.size === 0 ? {} : { except: JSON.stringify([...except]) }
    const find = except.size === 0 ? next : far ? nextOfOthers : soonOfOthers
    return [...room].flatMap(([model, wanted]) => {
      const found = find.all({ model, nowMs: nowMs(), limit: Math.max(0, Math.min(wanted, limit)), ...names })
      if (found.length === 0) return []
      const virtualTime = shares.virtualTime(model)
      return found.map((job): QueuedCandidate => ({ ...job, model, virtualTime }))
    })
  }
}

function createClaim(writing: Writing): (command: ClaimCommand) => readonly ClaimedRow[] {
  const { db, nowMs, changed } = writing
  const shares = createQueueShares(db)
  const findCandidates = createCandidates(writing, shares)
  const upstreamRuns = createUpstreamRuns(writing)
  const claim = db.prepare<[string, number, number, number], ClaimRow>(
    `UPDATE jobs SET status = 'running', progress = 0, attempts = attempts + 1, token = token + 1, worker = ?, lease_until = ?,
       started_at = coalesce(started_at, max(?, created_at)), sequence = sequence + 1
     WHERE number = ? RETURNING ${jobColumns}, trace, token, checkpoint, after_loss AS afterLoss, usage_price AS usagePrice, deadline_at AS deadlineAtMs,
       (SELECT input FROM job_inputs WHERE number = jobs.number) AS input,
       (SELECT additions FROM job_inputs WHERE number = jobs.number) AS additions`,
  )

  function claimOne({ number }: QueuedCandidate, worker: string, leaseMs: number): ClaimedRow {
    const row = claim.get(worker, nowMs() + leaseMs, nowMs(), number)
    if (row === undefined || row.input === null) throw new Error(`queued job number ${number} has no row or no input`)
    changed(row.jobId)
    const msToDeadline = row.deadlineAtMs === null ? null : row.deadlineAtMs - nowMs()
    const { trace, input, additions, checkpoint, afterLoss, usagePrice, token } = row
    const msSinceSubmission = afterLoss === 'continue' ? upstreamRuns.msSinceSubmission(number) : null
    const times = { msSinceSubmission, msToDeadline }
    return { job: toJob(row), trace, input, additions, checkpoint, afterLoss, usagePrice, token, ...times }
  }

  return (command) => {
    const choice = createClaimChoice(command)
    const claimed: ClaimedRow[] = []
    for (let look = choice.look(); look !== null; look = choice.look()) {
      const reached = new Map<string, number>()
      for (const next of choice.choose(findCandidates(look))) {
        claimed.push(claimOne(next, command.worker, command.leaseMs))
        reached.set(next.model, Math.max(next.key, reached.get(next.model) ?? 0))
      }
      for (const [model, key] of reached) shares.moveOn(model, key)
    }
    return claimed
  }
}

function createHeartbeat({
  db,
  nowMs,
  changed,
}: Writing): (beats: readonly Heartbeat[], leaseMs: number) => HeartbeatOutcome {
  const findJob = createJobFinder(db)
  const renew = db.prepare<[number, string]>('UPDATE jobs SET lease_until = ? WHERE job_id = ?')
  const advance = db.prepare<[number, string]>('UPDATE jobs SET progress = ?, sequence = sequence + 1 WHERE job_id = ?')

  return (beats, leaseMs) => {
    const lost: string[] = []
    const cancelRequested: string[] = []
    const deadlinePassed: string[] = []
    for (const beat of beats) {
      const { jobId } = beat
      const decided = decideHeartbeat(toRunState(findJob(jobId)), beat, nowMs())
      if (decided === null) {
        lost.push(jobId)
        continue
      }
      renew.run(nowMs() + leaseMs, jobId)
      if (decided.progress !== null) {
        advance.run(decided.progress, jobId)
        changed(jobId)
      }
      if (decided.cancel) cancelRequested.push(jobId)
      if (decided.deadline) deadlinePassed.push(jobId)
    }
    return { lost, cancelRequested, deadlinePassed }
  }
}

/** A checkpoint in the form that crosses threads. */
export interface CheckpointRow extends Omit<SavedCheckpoint, 'checkpoint'> {
  /** JSON */
  readonly checkpoint: string
}

function createCheckpoints(writing: Writing): (jobId: string, token: number, saved: CheckpointRow) => boolean {
  const findJob = createJobFinder(writing.db)
  const upstreamRuns = createUpstreamRuns(writing)
  const learn = createLearning(writing)
  const save = writing.db.prepare<[string, AfterLoss, number]>(
    'UPDATE jobs SET checkpoint = ?, after_loss = ? WHERE number = ?',
  )
  return (jobId, token, saved) => {
    const job = findJob(jobId)
    if (job?.token !== token) return false
    if (job.status !== 'running') {
      learn(job, saved)
      return false
    }
    save.run(saved.checkpoint, saved.afterLoss, job.number)
    if (saved.upstream) upstreamRuns.record(job.number, saved.upstream)
    return true
  }
}

/** Uses the report of an abandoned run about its submission: the job under review continues, or the submission is to be canceled. */
function createLearning(writing: Writing): (job: JobState, saved: CheckpointRow) => void {
  const upstreamRuns = createUpstreamRuns(writing)
  const pendingWork = createPendingWork(writing)
  const endRun = createRunEnds(writing)
  return (job, saved) => {
    const { upstream } = saved
    // A submission that is still planned is not made: the run learns that it has lost the job.
    if (!upstream || upstream.verdict === 'submitting' || job.status === 'queued') return
    upstreamRuns.record(job.number, upstream)
    const end = decideReconciled(toRunState(job), saved, writing.nowMs())
    if (end) endRun(job, end, saved)
    else if (job.status !== 'needs_review' && job.status !== 'succeeded')
      pendingWork.learn(job.number, saved.checkpoint)
  }
}

function createPreviews({ db, changed }: Writing): (jobId: string, token: number, key: string) => boolean {
  const show = db.prepare<[string, string, number]>(
    "UPDATE jobs SET preview_key = ?, sequence = sequence + 1 WHERE job_id = ? AND token = ? AND status = 'running'",
  )
  return (jobId, token, key) => {
    if (show.run(key, jobId, token).changes === 0) return false
    changed(jobId)
    return true
  }
}

function createFinish(writing: Writing): (jobId: string, token: number, outcome: JobOutcome) => Job | null {
  const findJob = createJobFinder(writing.db)
  const endRun = createRunEnds(writing)
  return (jobId, token, outcome) => {
    const job = findJob(jobId)
    const end = decideFinish(toRunState(job), token, outcome, writing.nowMs())
    return job && end && endRun(job, end)
  }
}
