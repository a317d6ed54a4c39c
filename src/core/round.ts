// Work that is done in rounds, one at a time; calls during a round are folded into one more.

/** Rounds of one kind of work. */
export interface Round {
  /** Asks for a round; one that is under way is followed by another. */
  again(): void
  /** Resolves when no round is under way. */
  settled(): Promise<void>
}

/** Creates rounds of `work`; a round that fails is told to `onError` and does not end the others. */
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
