// The time limit of a run: it counts while the run fetches or works, not while it waits for a slot.

/** A timer that can be paused. */
export interface Allowance {
  /** Starts or resumes the timer; it begins paused. */
  run(): void
  /** Pauses the timer. */
  hold(): void
  /** Counts anew from `ms`. */
  restart(ms: number): void
}

/** Creates an allowance; `onSpent` is called when it has counted for `ms`. */
export function createAllowance(ms: number, onSpent: () => void): Allowance {
  let leftMs = ms
  let sinceMs = 0
  let timer: NodeJS.Timeout | undefined
  const allowance: Allowance = {
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
    restart(ms) {
      const running = timer !== undefined
      allowance.hold()
      leftMs = ms
      if (running) allowance.run()
    },
  }
  return allowance
}
