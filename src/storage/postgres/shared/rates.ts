// Token buckets that processes share.
import { type BucketSize, takeFromBucket } from '../../../core/accounts/rate.ts'
import type { Writing } from '../writing.ts'

// Each change removes so many buckets that are full again, so the table holds little more than those in use.
const mostForgotten = 2

export async function takeTokens(tx: Writing, bucket: string, size: BucketSize, most: number): Promise<number> {
  // Makes a full bucket or locks the one that is there, at once: another process may be about to forget it.
  const found = tx.row<{ fullAtMs: number }>(
    `INSERT INTO rate_buckets AS b (name, full_at) VALUES (:bucket, 0) ON CONFLICT (name) DO UPDATE SET full_at = b.full_at
     RETURNING full_at AS fullAtMs`,
    { bucket },
  )
  const [row, nowMs] = await Promise.all([found, tx.nowMs()])
  const { taken, fullAtMs } = takeFromBucket(size, row?.fullAtMs ?? 0, nowMs, most)
  if (taken > 0) tx.send('UPDATE rate_buckets SET full_at = :fullAtMs WHERE name = :bucket', { bucket, fullAtMs })
  tx.send(
    `DELETE FROM rate_buckets WHERE name IN (SELECT name FROM rate_buckets WHERE full_at <= :nowMs AND name <> :bucket
       ORDER BY full_at LIMIT ${mostForgotten} FOR UPDATE SKIP LOCKED)`,
    { bucket, nowMs },
  )
  return taken
}
