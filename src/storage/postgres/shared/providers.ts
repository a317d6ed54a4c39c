// Slots, pace and pauses of providers of media, shared by all workers, and submissions found again.
import {
  type FoundSubmission,
  longestAnswerMs,
  type ProviderEntry,
  type ProviderStore,
} from '@mediagen/engine/provider-share.ts'
import { longestPauseMs, slotWaitMs } from '../../provider-terms.ts'
import type { Database, Transaction } from '../connection.ts'
import type { Submit, Writing } from '../writing.ts'

export function createProviderStore(db: Database, submit: Submit): ProviderStore {
  return {
    enterProvider: (entry) => submit((tx) => enterProvider(tx, entry)),
    leaveProvider: (...args) => submit((tx) => leaveProvider(tx, ...args)),
    pauseProvider: (...args) => submit((tx) => pauseProvider(tx, ...args)),
    findSubmission: (found) => submit((tx) => findSubmission(tx, found)),
    adoptSubmission: (found) => submit((tx) => adoptSubmission(tx, found)),
    foundSubmission: (jobId, n) => foundSubmission(db, jobId, n),
    isUpstreamTaken: (...args) => isUpstreamTaken(db, ...args),
  }
}

/** Counts a submission, and resolves to 0 if it may be made now; else to the milliseconds to wait. */
async function enterProvider(
  tx: Writing,
  { provider, jobId, concurrency, perMinute, longestMs }: ProviderEntry,
): Promise<number> {
  // Submissions to a provider take turns at its row.
  tx.send('INSERT INTO providers (provider) VALUES (:provider) ON CONFLICT DO NOTHING', { provider })
  const row = await tx.row<{ pausedUntil: number; nextAt: number }>(
    'SELECT paused_until AS pausedUntil, next_at AS nextAt FROM providers WHERE provider = :provider FOR UPDATE',
    { provider },
  )
  const now = await tx.nowMs()
  const { pausedUntil, nextAt } = row ?? { pausedUntil: 0, nextAt: 0 }
  const waitMs = Math.max(pausedUntil, perMinute === null ? 0 : nextAt) - now
  if (waitMs > 0) return waitMs
  if (concurrency !== null) {
    const of = { provider, jobId, until: now + longestMs, now }
    tx.send('DELETE FROM provider_places WHERE provider = :provider AND until <= :now', of)
    const taken = await tx.row<{ slots: number }>(
      'SELECT count(*) AS slots FROM provider_places WHERE provider = :provider AND job_id <> :jobId',
      of,
    )
    if ((taken?.slots ?? 0) >= concurrency) return slotWaitMs
    tx.send(
      `INSERT INTO provider_places (provider, job_id, until) VALUES (:provider, :jobId, :until)
       ON CONFLICT (provider, job_id) DO UPDATE SET until = excluded.until`,
      of,
    )
  }
  if (perMinute !== null)
    tx.send('UPDATE providers SET next_at = :next WHERE provider = :provider', {
      provider,
      next: now + Math.ceil(60_000 / perMinute),
    })
  return 0
}

async function leaveProvider(tx: Writing, provider: string, jobId: string): Promise<void> {
  tx.send('DELETE FROM provider_places WHERE provider = :provider AND job_id = :jobId', { provider, jobId })
}

async function pauseProvider(tx: Writing, provider: string, ms: number): Promise<void> {
  tx.send(
    `INSERT INTO providers AS p (provider, paused_until) VALUES (:provider, :until)
     ON CONFLICT (provider) DO UPDATE SET paused_until = greatest(p.paused_until, excluded.paused_until)`,
    { provider, until: (await tx.nowMs()) + Math.min(longestPauseMs, Math.ceil(ms)) },
  )
}

/** Records a found id; false if the submission has another one, or the id is another job's. */
async function findSubmission(tx: Writing, found: FoundSubmission): Promise<boolean> {
  const { jobId, n, provider, upstreamId } = found
  if (await isUpstreamTaken(tx, provider, upstreamId, jobId)) return false
  // Skips submissions that are recorded already, which is the usual case.
  if ((await foundSubmission(tx, jobId, n)) === null)
    await tx.change(
      'INSERT INTO found_submissions (job_id, n, provider, upstream_id) VALUES (:jobId, :n, :provider, :upstreamId) ON CONFLICT DO NOTHING',
      { ...found },
    )
  return (await foundSubmission(tx, jobId, n)) === upstreamId
}

/** The same for an id that was looked up, while no answer to another job's submission is awaited. */
async function adoptSubmission(tx: Writing, found: FoundSubmission): Promise<boolean> {
  const { jobId, n, provider } = found
  const awaited = await tx.row(
    `SELECT 1 FROM upstream_runs AS u JOIN jobs AS j ON j.number = u.job_number
     WHERE u.provider = :provider AND u.verdict = 'submitting' AND u.submitted_at > :since AND j.job_id <> :jobId LIMIT 1`,
    { provider, jobId, since: (await tx.nowMs()) - longestAnswerMs },
  )
  if (awaited !== undefined && (await foundSubmission(tx, jobId, n)) === null) return false
  return findSubmission(tx, found)
}

async function foundSubmission(db: Pick<Transaction, 'row'>, jobId: string, n: number): Promise<string | null> {
  const row = await db.row<{ id: string }>(
    `SELECT u.upstream_id AS id FROM jobs AS j JOIN upstream_runs AS u ON u.job_number = j.number
     WHERE j.job_id = :jobId AND u.n = :n AND u.upstream_id IS NOT NULL
     UNION ALL SELECT upstream_id FROM found_submissions WHERE job_id = :jobId AND n = :n LIMIT 1`,
    { jobId, n },
  )
  return row?.id ?? null
}

async function isUpstreamTaken(
  db: Pick<Transaction, 'row'>,
  provider: string,
  upstreamId: string,
  jobId: string,
): Promise<boolean> {
  const row = await db.row(
    `SELECT 1 FROM upstream_runs AS u JOIN jobs AS j ON j.number = u.job_number
     WHERE u.provider = :provider AND u.upstream_id = :upstreamId AND j.job_id <> :jobId
     UNION ALL SELECT 1 FROM found_submissions WHERE provider = :provider AND upstream_id = :upstreamId AND job_id <> :jobId LIMIT 1`,
    { provider, upstreamId, jobId },
  )
  return row !== undefined
}
