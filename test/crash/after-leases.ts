// The clock of the last server of the kills, long after them.
import { shiftClock } from '../fleet/shift-clock.ts'
import { isPostgres } from '../test-store.ts'

/** Longer than the leases of killed processes last, and than the answer of a provider is awaited. */
const ms = 300_000

/**
 * What a server would have to wait for has passed by its clock, which is ahead by `aheadMs` if it has the settings `env`. On PostgreSQL
 * the clock is that of the database, so there it waits.
 */
export const afterLeases = isPostgres ? { aheadMs: 0, env: {} } : { aheadMs: ms, env: shiftClock(ms) }
