// Time as a parameter, so a test can control it.

/** Tells the time. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  nowMs(): number
}

/** The machine's own clock. */
export const systemClock: Clock = { nowMs: () => Date.now() }

/** An instant as REST writes it: RFC 3339, UTC, milliseconds, `Z`. */
export function toTimestampText(ms: number): string {
  return new Date(ms).toISOString()
}
