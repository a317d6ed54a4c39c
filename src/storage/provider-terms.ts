// The bounds of what workers share of providers of media, in milliseconds.

/** The longest pause that a provider can cause, so that a wrong number in its answer does not stop jobs for days. */
export const longestPauseMs = 3_600_000
/** How soon a slot may become free. */
export const slotWaitMs = 1000
