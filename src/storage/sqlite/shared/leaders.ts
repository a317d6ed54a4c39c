// The lease of the process that sweeps for all. core/jobs/leader.ts has the rule.
import { judgeLead, type Lead } from '../../../core/jobs/leader.ts'
import type { Connection } from '../connection.ts'
import type { Writing } from '../threads/writing.ts'

function createLeadFinder(db: Connection): () => Lead | null {
  const find = db.prepare<[], Lead>('SELECT holder, until AS untilMs FROM leaders')
  return () => find.get() ?? null
}

export function createLeaderCommands({ db, nowMs }: Writing) {
  const find = createLeadFinder(db)
  const take = db.prepare<[string, number]>(
    'INSERT INTO leaders (one, holder, until) VALUES (1, ?, ?) ON CONFLICT DO UPDATE SET holder = excluded.holder, until = excluded.until',
  )
  const drop = db.prepare<[string]>('DELETE FROM leaders WHERE holder = ?')
  return {
    /** Takes or renews the lease unless another process has it; returns whether `holder` leads. */
    takeLead(holder: string, leaseMs: number): boolean {
      const judged = judgeLead(find(), holder, leaseMs, nowMs())
      if (judged === 'take') take.run(holder, nowMs() + leaseMs)
      return judged !== 'theirs'
    },
    dropLead: (holder: string): void => void drop.run(holder),
  }
}

export function createLeaderReads(db: Connection, nowMs: () => number) {
  const find = createLeadFinder(db)
  return { judgeLead: (holder: string, leaseMs: number) => judgeLead(find(), holder, leaseMs, nowMs()) }
}
