// The position of a queued job: a bounded count along the index of claims.
import { lastQueuePosition, priorityRange } from '../../../core/jobs/fair-queue.ts'
import type { QueueKey } from '../../job-rows.ts'
import type { Connection } from '../connection.ts'

// A queue that was found long is assumed to stay long for this time: under load nearly every start is behind a hundred others
// and need not count them again.
const longForMs = 100

/** Creates a function that finds the position of a queued job: 1 for the next, `lastQueuePosition` for that or later. */
export function createPositionFinder(db: Connection): (key: QueueKey) => number {
  const ready = "status = 'queued' AND available_at IS NULL AND model = :model"
  const before = db
    .prepare<QueueKey & { most: number }, number>(
      `SELECT count(*) FROM (
         SELECT 1 FROM jobs WHERE ${ready} AND priority = :priority AND (fair, number) < (:fair, :number) LIMIT :most)`,
    )
    .pluck()
  const above = db
    .prepare<QueueKey & { most: number }, number>(
      `SELECT count(*) FROM (SELECT 1 FROM jobs WHERE ${ready} AND priority > :priority LIMIT :most)`,
    )
    .pluck()
  const most = lastQueuePosition - 1

  function countAhead(key: QueueKey): number {
    // Most jobs have the highest priority.
    const ahead = key.priority >= priorityRange.most ? 0 : (above.get({ ...key, most }) ?? 0)
    return Math.min(most, ahead + (ahead < most ? (before.get({ ...key, most }) ?? 0) : 0))
  }

  /** By model, a position beyond the last one that is reported, and when it was found. */
  const beyond = new Map<string, { key: QueueKey; atMs: number }>()
  return ({ model, number, priority, fair }) => {
    const key = { model, number, priority, fair }
    const known = beyond.get(model)
    const nowMs = performance.now()
    if (known && nowMs - known.atMs < longForMs && isBehind(key, known.key)) return lastQueuePosition
    const ahead = countAhead(key)
    if (ahead === most) beyond.set(model, { key, atMs: nowMs })
    else if (known && nowMs - known.atMs >= longForMs) beyond.delete(model)
    return ahead + 1
  }
}

function isBehind(key: QueueKey, other: QueueKey): boolean {
  if (key.priority !== other.priority) return key.priority < other.priority
  return key.fair > other.fair || (key.fair === other.fair && key.number >= other.number)
}
