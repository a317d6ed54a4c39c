// A clock that takes its time: each request asks for the time, so a few of them make a server that is behind.
import type { Clock } from '../src/core/clock.ts'

/** A clock that holds up the event loop whenever it is asked while `slow` is set. */
export function createSlowClock(forMs: number): Clock & { slow: boolean } {
  return {
    slow: false,
    nowMs() {
      const endMs = performance.now() + (this.slow ? forMs : 0)
      while (performance.now() < endMs);
      return Date.now()
    },
  }
}
