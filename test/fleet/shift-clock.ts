// Processes whose clocks are off.
import { join } from 'node:path'

const program = join(import.meta.dirname, 'shifted-clock.mjs')

/**
 * The settings of a process whose clock is off.
 * @param ms by how much; positive for ahead
 * @param when from the beginning, or from SIGUSR2 on
 */
export function shiftClock(ms: number, when: 'at once' | 'later' = 'at once'): Record<string, string> {
  return {
    NODE_OPTIONS: `--import=${program}`,
    MEDIAGEN_TEST_CLOCK_MS: String(ms),
    ...(when === 'later' && { MEDIAGEN_TEST_CLOCK_WAITS: '1' }),
  }
}
