// A clock that stands still until a test moves it.
import type { Clock } from '../../src/core/clock.ts'

/** Milliseconds since 1970 that the test sets. */
export interface TestClock extends Clock {
  ms: number
}

/** Creates a clock that stands at a round instant. */
export function createTestClock(): TestClock {
  const clock: TestClock = { ms: Date.parse('2026-11-20T10:00:00.000Z'), nowMs: () => clock.ms }
  return clock
}
