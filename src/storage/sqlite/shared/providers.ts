// Slots, pace and pauses of providers of media, shared by all workers, and submissions found again.
import { type FoundSubmission, longestAnswerMs, type ProviderEntry } from '@mediagen/engine/provider-share.ts'
import { longestPauseMs, slotWaitMs } from '../../provider-terms.ts'
import type { Connection } from '../connection.ts'
import type { Writing } from '../threads/writing.ts'

export function createProviderCommands({ db, nowMs }: Writing) {
  const find = db.prepare<[string], { pausedUntil: number; nextAt: number }>(
    'SELECT paused_until AS pausedUntil, next_at AS nextAt FROM providers WHERE provider = ?',
  )
  const expire = db.prepare<[string, number]>('DELETE FROM provider_places WHERE provider = ? AND until <= ?')
  const count = db
    .prepare<[string, string], number>('SELECT count(*) FROM provider_places WHERE provider = ? AND job_id <> ?')
    .pluck()
  const take = db.prepare<[string, string, number]>(
    'INSERT OR REPLACE INTO provider_places (provider, job_id, until) VALUES (?, ?, ?)',
  )
  const setPace = db.prepare<[string, number]>(
    'INSERT INTO providers (provider, next_at) VALUES (?, ?) ON CONFLICT (provider) DO UPDATE SET next_at = excluded.next_at',
  )
  const leave = db.prepare<[string, string]>('DELETE FROM provider_places WHERE provider = ? AND job_id = ?')
  const pause = db.prepare<[string, number]>(
    `INSERT INTO providers (provider, paused_until) VALUES (?, ?)
     ON CONFLICT (provider) DO UPDATE SET paused_until = max(paused_until, excluded.paused_until)`,
  )
  const keep = db.prepare<FoundSubmission>(
    'INSERT OR IGNORE INTO found_submissions (job_id, n, provider, upstream_id) VALUES (:jobId, :n, :provider, :upstreamId)',
  )
  const awaited = db
    .prepare<{ provider: string; jobId: string; since: number }, 1>(
      `SELECT 1 FROM upstream_runs AS u JOIN jobs AS j ON j.number = u.job_number
       WHERE u.provider = :provider AND u.verdict = 'submitting' AND u.submitted_at > :since AND j.job_id <> :jobId LIMIT 1`,
    )
    .pluck()
  const { foundSubmission, isUpstreamTaken } = createProviderReads(db)

  function findSubmission(found: FoundSubmission): boolean {
    const { jobId, n, provider, upstreamId } = found
    if (isUpstreamTaken(provider, upstreamId, jobId)) return false
    // Skips submissions that are recorded already, which is the usual case.
    if (foundSubmission(jobId, n) === null) keep.run(found)
    return foundSubmission(jobId, n) === upstreamId
  }

  return {
    findSubmission,
    adoptSubmission(found: FoundSubmission): boolean {
      const { jobId, n, provider } = found
      const isAwaited = awaited.get({ provider, jobId, since: nowMs() - longestAnswerMs }) !== undefined
      return foundSubmission(jobId, n) === null && isAwaited ? false : findSubmission(found)
    },
    enterProvider({ provider, jobId, concurrency, perMinute, longestMs }: ProviderEntry): number {
      const now = nowMs()
      const { pausedUntil, nextAt } = find.get(provider) ?? { pausedUntil: 0, nextAt: 0 }
      const waitMs = Math.max(pausedUntil, perMinute === null ? 0 : nextAt) - now
      if (waitMs > 0) return waitMs
      if (concurrency !== null) {
        expire.run(provider, now)
        if ((count.get(provider, jobId) ?? 0) >= concurrency) return slotWaitMs
        take.run(provider, jobId, now + longestMs)
      }
      if (perMinute !== null) setPace.run(provider, now + Math.ceil(60_000 / perMinute))
      return 0
    },
    leaveProvider: (provider: string, jobId: string): void => void leave.run(provider, jobId),
    pauseProvider: (provider: string, ms: number): void =>
      void pause.run(provider, nowMs() + Math.min(longestPauseMs, Math.ceil(ms))),
  }
}

export function createProviderReads(db: Connection) {
  const found = db
    .prepare<{ jobId: string; n: number }, string>(
      `SELECT u.upstream_id FROM jobs AS j JOIN upstream_runs AS u ON u.job_number = j.number
       WHERE j.job_id = :jobId AND u.n = :n AND u.upstream_id IS NOT NULL
       UNION ALL SELECT upstream_id FROM found_submissions WHERE job_id = :jobId AND n = :n`,
    )
    .pluck()
  const taken = db
    .prepare<{ provider: string; upstreamId: string; jobId: string }, 1>(
      `SELECT 1 FROM upstream_runs AS u JOIN jobs AS j ON j.number = u.job_number
       WHERE u.provider = :provider AND u.upstream_id = :upstreamId AND j.job_id <> :jobId
       UNION ALL SELECT 1 FROM found_submissions WHERE provider = :provider AND upstream_id = :upstreamId AND job_id <> :jobId`,
    )
    .pluck()
  return {
    foundSubmission: (jobId: string, n: number): string | null => found.get({ jobId, n }) ?? null,
    isUpstreamTaken: (provider: string, upstreamId: string, jobId: string): boolean =>
      taken.get({ provider, upstreamId, jobId }) !== undefined,
  }
}
