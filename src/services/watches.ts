// Bounds concurrent watches and waits: a watch beyond the bound is refused, a wait is answered at once.
import { MediagenError } from '../core/errors.ts'
import { createSlots, type SlotBounds, type Slots } from '../guards/slots.ts'

const retryFullSeconds = 5

/** How many watches (WatchJob, server-sent events) and waits (`wait=true`) may be open. */
export interface WatchBounds {
  readonly watches: SlotBounds
  readonly waits: SlotBounds
}

/** The open watches and waits of one process. */
export interface Watches {
  /**
   * Opens a watch; answers with what ends it.
   * @throws MediagenError `rate_limited` or `overloaded`, which name the bound
   */
  open(accountId: string): () => void
  /** Waits as `wait` does; returns null at once if too many already wait. */
  wait<Result>(accountId: string, wait: () => Promise<Result>): Promise<Result | null>
  readonly opened: Slots['taken']
  readonly waiting: Slots['taken']
}

/** Creates the count. */
export function createWatches(bounds: WatchBounds): Watches {
  const watches = createSlots(bounds.watches)
  const waits = createSlots(bounds.waits)
  return {
    open(accountId) {
      const slot = watches.take(accountId)
      if (slot === 'perOwner')
        throw new MediagenError(
          'rate_limited',
          `The account has ${bounds.watches.perOwner} watches open, which is the limit (MEDIAGEN_MAX_WATCHES_PER_ACCOUNT). Close some, or read the job instead.`,
          { retryAfterSeconds: retryFullSeconds },
        )
      if (slot === 'inAll')
        throw new MediagenError(
          'overloaded',
          `This server has ${bounds.watches.inAll} watches open, which is the limit (MEDIAGEN_MAX_WATCHES). Read the job instead, or come back later.`,
          { retryAfterSeconds: retryFullSeconds },
        )
      return slot
    },
    async wait(accountId, wait) {
      const slot = waits.take(accountId)
      if (typeof slot === 'string') return null
      try {
        return await wait()
      } finally {
        slot()
      }
    },
    opened: watches.taken,
    waiting: waits.taken,
  }
}
