// Time that a run may take: it counts while the run fetches or works, and not while it waits for a place.

/** A timer that can be held. */
export interface Allowance {
  /** Lets the time count; from the beginning it does not. */
  run(): void
  /** Keeps what is left. */
  hold(): void
}

/** Creates an allowance; `onSpent` is called when it has counted for `ms`. */
export function createAllowance(ms: number, onSpent: () => void): Allowance {
  let leftMs = ms
  let sinceMs = 0
  let timer: NodeJS.Timeout | undefined
  return {
    run() {
      if (timer !== undefined) return
      sinceMs = performance.now()
      timer = setTimeout(onSpent, Math.max(0, leftMs))
    },
    hold() {
      if (timer === undefined) return
      clearTimeout(timer)
      timer = undefined
      leftMs -= performance.now() - sinceMs
    },
  }
}
