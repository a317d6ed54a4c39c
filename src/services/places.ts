// Bounds what stays open for long: a number for each account, and a number in total.

/** Bounds of places. */
export interface PlaceBounds {
  readonly perAccount: number
  readonly inAll: number
}

/** Places of one kind. */
export interface Places {
  /** Takes a place. Returns the function that gives it back (call it once), or the bound that was reached. */
  take(accountId: string): (() => void) | 'perAccount' | 'inAll'
  /** How many are taken. */
  readonly taken: () => number
}

/** Creates places, all of them free. */
export function createPlaces(bounds: PlaceBounds): Places {
  const byAccount = new Map<string, number>()
  let taken = 0

  function giveBack(accountId: string): void {
    taken -= 1
    const left = (byAccount.get(accountId) ?? 0) - 1
    if (left > 0) byAccount.set(accountId, left)
    else byAccount.delete(accountId)
  }

  return {
    take(accountId) {
      const own = byAccount.get(accountId) ?? 0
      if (own >= bounds.perAccount) return 'perAccount'
      if (taken >= bounds.inAll) return 'inAll'
      taken += 1
      byAccount.set(accountId, own + 1)
      return () => giveBack(accountId)
    },
    taken: () => taken,
  }
}
