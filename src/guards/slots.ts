// Bounds what stays open for long: a number for each owner, and a number in total.

/** Bounds of slots. */
export interface SlotBounds {
  readonly perOwner: number
  readonly inAll: number
}

/** Slots of one kind. */
export interface Slots {
  /**
   * Takes a slot. Returns the function that gives it back (call it once), or the bound that was reached.
   * @param owner who takes it, such as an account or an address; null if only the number in total counts
   */
  take(owner: string | null): (() => void) | 'perOwner' | 'inAll'
  /** How many are taken. */
  readonly taken: () => number
}

/** Creates slots, all of them free. */
export function createSlots(bounds: SlotBounds): Slots {
  const byOwner = new Map<string, number>()
  let taken = 0

  function giveBack(owner: string | null): void {
    taken -= 1
    if (owner === null) return
    const left = (byOwner.get(owner) ?? 0) - 1
    if (left > 0) byOwner.set(owner, left)
    else byOwner.delete(owner)
  }

  return {
    take(owner) {
      const own = owner === null ? 0 : (byOwner.get(owner) ?? 0)
      if (owner !== null && own >= bounds.perOwner) return 'perOwner'
      if (taken >= bounds.inAll) return 'inAll'
      taken += 1
      if (owner !== null) byOwner.set(owner, own + 1)
      return () => giveBack(owner)
    },
    taken: () => taken,
  }
}
