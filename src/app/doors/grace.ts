// How long a server that stops may still take: one time for the doors, the runs and the webhooks together.

/** Milliseconds that are left; the first call starts the time. */
export type Grace = () => number

/**
 * Creates the time.
 * @param nowMs a monotonic clock
 */
export function createGrace(seconds: number, nowMs: () => number = () => performance.now()): Grace {
  let endMs: number | undefined
  return () => {
    endMs ??= nowMs() + seconds * 1000
    return Math.max(0, endMs - nowMs())
  }
}
