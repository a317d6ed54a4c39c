// Token buckets that processes share.
import { type BucketSize, takeFromBucket } from '../../../core/accounts/rate.ts'
import type { Writing } from '../threads/writing.ts'

// Each change removes so many buckets that are full again, so the table holds little more than those in use.
const mostForgotten = 2

export function createRateCommands({ db, nowMs }: Writing) {
  const find = db.prepare<[string], number>('SELECT full_at FROM rate_buckets WHERE name = ?').pluck()
  const forget = db.prepare<[number, number]>(
    'DELETE FROM rate_buckets WHERE name IN (SELECT name FROM rate_buckets WHERE full_at <= ? ORDER BY full_at LIMIT ?)',
  )
  const write = db.prepare<[string, number]>(
    'INSERT INTO rate_buckets (name, full_at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET full_at = excluded.full_at',
  )
  return {
    takeTokens(bucket: string, size: BucketSize, most: number): number {
      forget.run(nowMs(), mostForgotten)
      const { taken, fullAtMs } = takeFromBucket(size, find.get(bucket) ?? 0, nowMs(), most)
      if (taken > 0) write.run(bucket, fullAtMs)
      return taken
    },
  }
}
