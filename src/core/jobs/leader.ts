// Leader election: one process does the sweeps and removes expired files for all. A lease in the store decides which.

/** Length of the lease: after a leader has died, another process leads within this time. */
export const leadMs = 5000

/** The lease of the leader. */
export interface Lead {
  readonly holder: string
  readonly untilMs: number
}

/** Whether `holder` leads, somebody else does, or the lease is to be taken: nobody has it, or `holder` has used half of it. */
export function judgeLead(
  lead: Lead | null,
  holder: string,
  leaseMs: number,
  nowMs: number,
): 'mine' | 'theirs' | 'take' {
  const leftMs = lead === null ? 0 : lead.untilMs - nowMs
  // A longer lease was taken before the clock went back.
  if (lead === null || leftMs <= 0 || leftMs > leaseMs) return 'take'
  if (lead.holder !== holder) return 'theirs'
  return leftMs > leaseMs / 2 ? 'mine' : 'take'
}
