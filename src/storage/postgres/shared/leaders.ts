// The lease of the process that sweeps for all. The rule is in core.
import { judgeLead, type Lead } from '../../../core/jobs/leader.ts'
import type { Transaction } from '../connection.ts'
import type { Writing } from '../writing.ts'

/** What `judgeLead` says of the lease now. */
export async function readLead(
  db: Pick<Transaction, 'row'>,
  holder: string,
  leaseMs: number,
): Promise<ReturnType<typeof judgeLead>> {
  const row = await db.row<Partial<Lead> & { now: number }>(
    'SELECT l.holder, l.until AS untilMs, t.now FROM (SELECT now_ms(:held) AS now) AS t LEFT JOIN leaders AS l ON TRUE',
  )
  const { holder: theirs, untilMs, now = 0 } = row ?? {}
  const lead = theirs != null && untilMs != null ? { holder: theirs, untilMs } : null
  return judgeLead(lead, holder, leaseMs, now)
}

/** Takes or renews the lease unless another process has it; returns whether `holder` leads. */
export async function takeLead(tx: Writing, holder: string, leaseMs: number): Promise<boolean> {
  tx.send("SELECT pg_advisory_xact_lock(hashtextextended('mediagen leader', 0))")
  const judged = await readLead(tx, holder, leaseMs)
  if (judged === 'take')
    tx.send(
      'INSERT INTO leaders (one, holder, until) VALUES (1, :holder, :until) ON CONFLICT (one) DO UPDATE SET holder = excluded.holder, until = excluded.until',
      { holder, until: (await tx.nowMs()) + leaseMs },
    )
  return judged !== 'theirs'
}

export async function dropLead(tx: Pick<Transaction, 'send'>, holders: readonly string[]): Promise<void> {
  tx.send('DELETE FROM leaders WHERE holder = ANY(:holders)', { holders })
}
