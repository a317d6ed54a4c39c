// The bounds of what workers share of providers of media, in milliseconds.

/** Whatever a provider asks for: a wrong number stops nobody for days. */
export const longestPauseMs = 3_600_000
/** How soon a slot may become free. */
export const slotWaitMs = 1000
