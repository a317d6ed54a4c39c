// A model of accounts and jobs in a few lines of plain arithmetic, for the property tests: what the store must answer.
import type { JobStatus } from '../../src/core/jobs/job.ts'

export interface ModelAccount {
  readonly accountId: string
  available: number
  held: number
  /** All that was ever granted, adjusted, charged: the sum that must be conserved. */
  granted: number
  charged: number
  /** Where its last queued job ends in the queue. */
  finish: number
}

export interface ModelJob {
  /** Empty until the store has answered. */
  jobId: string
  readonly account: ModelAccount
  readonly credits: number
  status: JobStatus
  token: number
  cancelRequested: boolean
  readonly key: number
}

/** What the model expects of an answer; null for "null". */
export type Expected = Record<string, unknown> | null

/** All that the model knows. */
export interface Model {
  readonly accounts: ModelAccount[]
  readonly jobs: ModelJob[]
  /** Key of the latest job that was claimed. */
  virtualTime: number
}

export function start(
  model: Model,
  account: ModelAccount,
  credits: number,
  maxQueuedJobs: number,
): { expected: Expected; job: ModelJob | null } {
  const queued = model.jobs.filter((job) => job.account === account && job.status === 'queued').length
  if (queued >= maxQueuedJobs) return { expected: { outcome: 'too_many_jobs', queued }, job: null }
  if (credits > account.available)
    return { expected: { outcome: 'no_credits', available: account.available }, job: null }
  account.available -= credits
  account.held += credits
  const key = Math.max(model.virtualTime, account.finish)
  account.finish = key + Math.max(1, credits)
  const job: ModelJob = { jobId: '', account, credits, status: 'queued', token: 0, cancelRequested: false, key }
  model.jobs.push(job)
  return { expected: { outcome: 'created', job: { status: 'queued', creditsHeld: credits } }, job }
}

export function change(account: ModelAccount, credits: number): Expected {
  if (account.available + credits < 0) return { outcome: 'out_of_range', available: account.available }
  account.available += credits
  account.granted += credits
  return { outcome: 'done', account: { available: account.available, held: account.held } }
}

export function claim(model: Model, limit: number): ModelJob[] {
  const queued = model.jobs.filter((job) => job.status === 'queued')
  const claimed = queued.toSorted((a, b) => a.key - b.key).slice(0, limit)
  for (const job of claimed) {
    model.virtualTime = Math.max(model.virtualTime, job.key)
    job.status = 'running'
    job.token += 1
  }
  return claimed
}

export function finish(
  job: ModelJob,
  token: number,
  status: 'succeeded' | 'failed' | 'canceled' | 'queued',
  actual: number,
): Expected {
  if (job.status !== 'running' || job.token !== token) return null
  if (status === 'queued' && !job.cancelRequested) {
    job.status = 'queued'
    return { status: 'queued', creditsReleased: 0 }
  }
  return settle(job, status === 'queued' ? 'canceled' : status, status === 'succeeded' ? actual : 0)
}

export function cancel(model: Model, job: ModelJob): Expected {
  if (job.status === 'queued') {
    if (job.token === 0) job.account.finish = Math.max(model.virtualTime, job.account.finish - Math.max(1, job.credits))
    return settle(job, 'canceled', 0)
  }
  if (job.status === 'running') job.cancelRequested = true
  return { status: job.status, cancelRequested: job.cancelRequested }
}

function settle(job: ModelJob, status: JobStatus, actual: number): Expected {
  const charged = Math.min(actual, job.credits)
  job.status = status
  job.account.held -= job.credits
  job.account.available += job.credits - charged
  job.account.charged += charged
  return { status, creditsHeld: job.credits, creditsCharged: charged, creditsReleased: job.credits - charged }
}
