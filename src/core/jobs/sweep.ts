// Sweeps: the changes of jobs and deliveries that only the passing of time causes.

/** What counts as overdue. */
export interface SweepTerms {
  /** Length of a new lease: a longer one was taken before the clock went back, and is cut to this. */
  readonly leaseMs: number
  /** How long a job may be under review. */
  readonly reviewMs: number
}

export interface SweepCommand extends SweepTerms {
  /** Maximum number of each kind. */
  readonly limit: number
  /** 0 … 1, the jitter of retries. */
  readonly random: number
}

/** The result of a sweep, in jobs; at the end in webhook deliveries and endpoints. */
export interface SweepOutcome {
  /** Queued again after their worker was lost. */
  readonly requeued: number
  /** Failed because too many runs were lost. */
  readonly failed: number
  /** Sent to review after their worker was lost. */
  readonly reviewed: number
  /** Ended by their deadline, or canceled by their owner before their worker was lost. */
  readonly expired: number
  /** Released because the review period was over. */
  readonly released: number
  /** Retries that became due. */
  readonly woken: number
  /** Waits from before the clock went back, which start again. */
  readonly rebased: number
  /** Old finished deliveries that were removed. */
  readonly forgotten: number
  /** Deleted endpoints that were removed, as none of their deliveries is left. */
  readonly dropped: number
  /** Whether there may be more to do. */
  readonly more: boolean
}

/** The result of a step that found nothing to do. */
export const nothingSwept: SweepOutcome = {
  requeued: 0,
  failed: 0,
  reviewed: 0,
  expired: 0,
  released: 0,
  woken: 0,
  rebased: 0,
  forgotten: 0,
  dropped: 0,
  more: false,
}

/** The result of several steps. */
export function addSwept(one: SweepOutcome, other: SweepOutcome): SweepOutcome {
  const { more, ...counts } = one
  const sums = Object.entries(counts).map(([name, count]) => [name, count + other[name as keyof typeof counts]])
  return { ...(Object.fromEntries(sums) as typeof counts), more: more || other.more }
}
