// The virtual times of queues and accounts, from which fair keys are made.
import type { QueueShare } from '../../../core/jobs/fair-queue.ts'
import type { Connection } from '../connection.ts'

export type QueueShares = ReturnType<typeof createQueueShares>

/** Creates the reads and writes of queues, in a transaction. */
export function createQueueShares(db: Connection) {
  // A subquery, since an outer join is much slower.
  const find = db.prepare<[string, string], QueueShare>(
    `SELECT virtual_time AS virtualTime, coalesce((SELECT finish FROM queue_shares AS s WHERE s.model = q.model AND s.account_id = ?), 0) AS finish
     FROM queues AS q WHERE model = ?`,
  )
  const open = db.prepare<[string]>('INSERT INTO queues (model) VALUES (?) ON CONFLICT DO NOTHING')
  const write = db.prepare<[string, string, number]>(
    'INSERT INTO queue_shares (model, account_id, finish) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET finish = excluded.finish',
  )
  const findTime = db.prepare<[string], number>('SELECT virtual_time FROM queues WHERE model = ?').pluck()
  const moveOn = db.prepare<[number, string, number]>(
    'UPDATE queues SET virtual_time = ? WHERE model = ? AND virtual_time < ?',
  )
  return {
    /** The state of a model's queue for an account; null when the model has no queue. */
    read: (model: string, accountId: string): QueueShare | null => find.get(accountId, model) ?? null,
    /** Opens the queue of a model, if it has none. */
    open: (model: string) => void open.run(model),
    write(model: string, accountId: string, finish: number): void {
      write.run(model, accountId, finish)
    },
    /** Virtual time of a model's queue. */
    virtualTime: (model: string): number => findTime.get(model) ?? 0,
    /** Records that a job with this key was claimed. */
    moveOn(model: string, key: number): void {
      moveOn.run(key, model, key)
    },
  }
}
