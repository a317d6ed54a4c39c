// Coalesces calls: work runs in rounds, one at a time, and calls during a round cause one more.

/** Rounds of one kind of work. */
export interface Round {
  /** Requests a round; a running round is followed by another. */
  again(): void
  /** Resolves when no round is running. */
  settled(): Promise<void>
}

/** Creates rounds of `work`; a failed round is reported to `onError` and does not stop the others. */
export function createRound(work: () => Promise<void>, onError: (error: unknown) => void): Round {
  let current: Promise<void> | null = null
  let wanted = false
  async function rounds(): Promise<void> {
    do {
      wanted = false
      await work().catch(onError)
    } while (wanted)
    current = null
  }
  return {
    again() {
      wanted = true
      current ??= rounds()
    },
    settled: async () => {
      await current
    },
  }
}
