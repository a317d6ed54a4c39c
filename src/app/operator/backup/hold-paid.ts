// After a restore: jobs whose runs may have cost money elsewhere since the backup go to review. The backup does not know what was
// submitted after it, so they are treated as runs that were lost in the middle.
import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Model } from '../../../catalog/model.ts'
import type { Config } from '../../../config.ts'
import type { ClaimedJob } from '../../../core/jobs/job.ts'
import type { Store } from '../../../core/store.ts'
import { backends } from '../../../engines/remote/backends.ts'
import type { TableSource } from '../../../storage/tables.ts'
import { readSweeping } from '../../worker.ts'

const worker = 'mediagen restore'
const jobsAtOnce = 100
const retryMs = 1000

/** Whether a run of a model, or of one of its fallbacks, may cost money elsewhere, or may not be repeated for another reason. */
export function isPaid({ engine }: Pick<Model, 'engine'>): boolean {
  const specs = [engine, ...((engine['fallback'] ?? []) as JsonObject[])]
  return specs.some(
    ({ kind, provider, resumable }) =>
      resumable === false || (provider !== undefined && !backends.get(String(kind))?.free),
  )
}

/**
 * Sends to review what was queued or running and is not known to be submitted. A job that was submitted is waited for, as after
 * a crash.
 * @param free ids of models whose runs may be repeated; those of others may have cost money
 * @param readTables opens the database as it is now
 * @returns how many jobs
 */
export async function holdPaid(
  store: Store,
  free: ReadonlySet<string>,
  readTables: () => Promise<TableSource>,
  config: Config,
): Promise<number> {
  let held = 0
  async function hold(jobId: string, token: number): Promise<void> {
    await store.saveCheckpoint(jobId, token, { checkpoint: null, afterLoss: 'never' })
    const job = await store.finishJob(jobId, token, { status: 'queued', isRestored: true })
    if (job?.status === 'needs_review') held += 1
  }
  const back: ClaimedJob[] = []
  for (;;) {
    const { running, waits } = await findOpen(await readTables(), free)
    for (const { jobId, token } of running) await hold(jobId, token)
    for (const claimed of await claimAll(store, free))
      if (claimed.afterLoss === 'continue') back.push(claimed)
      else await hold(claimed.job.jobId, claimed.token)
    if (!waits) break
    // A retry is due within a minute.
    await sleep(retryMs)
    await store.sweep({ ...readSweeping(config), limit: jobsAtOnce, random: Math.random() })
  }
  for (const { job, token } of back) await store.finishJob(job.jobId, token, { status: 'queued' })
  return held
}

async function claimAll(store: Store, free: ReadonlySet<string>): Promise<readonly ClaimedJob[]> {
  const all: ClaimedJob[] = []
  const waiting = (await store.listWaitingModels()).filter((model) => !free.has(model))
  const room = Object.fromEntries(waiting.map((model) => [model, jobsAtOnce]))
  for (;;) {
    const some = await store.claimJobs({ worker, room, limit: jobsAtOnce, leaseMs: 3_600_000 })
    all.push(...some)
    if (some.length === 0) return all
  }
}

/** Runs of the backup that were not submitted, and whether jobs wait for a retry. */
async function findOpen(source: TableSource, free: ReadonlySet<string>) {
  await using tables = source
  const columns = ['job_id', 'model', 'status', 'after_loss', 'token', 'worker', 'available_at']
  const running: { jobId: string; token: number }[] = []
  let waits = false
  for await (const rows of tables.read('jobs', columns))
    for (const [jobId, model, status, afterLoss, token, by, availableAt] of rows) {
      if (free.has(String(model)) || by === worker) continue
      if (status === 'running' && afterLoss !== 'continue') running.push({ jobId: String(jobId), token: Number(token) })
      if (status === 'queued' && availableAt !== null && afterLoss !== 'continue') waits = true
    }
  return { running, waits }
}
