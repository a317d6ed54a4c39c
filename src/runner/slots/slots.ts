// How the slots of a worker are shared: an account may have all of them while nobody else waits, at most its share while
// somebody does, and one reserved slot serves an account that has none when all are taken.
import type { Model } from '../../catalog/model.ts'
import type { SlotShare } from '../../core/store.ts'
import type { Phase } from '../run.ts'

/** How many slots there are, and for whom. */
export interface SlotBounds {
  /** Runs at once, of all models that do not only wait. */
  readonly slots: number
  /** Slots that one account may hold while others wait, at least one. */
  readonly perAccount: number
  /** Further slots for accounts that hold none while all others are taken. */
  readonly spare: number
}

/** What counts of a run. */
interface Placed {
  readonly accountId: string
  readonly model: Model
  readonly phase: Phase
  readonly isLight: boolean
}

/** The slots as they are taken at a moment. */
export interface TakenSlots {
  /** Those that are left for anybody. */
  readonly free: number
  /** Whether the reserved slot is free while all others are taken. */
  readonly hasSpare: boolean
  /** The shares for the next claim of jobs. */
  share(): SlotShare
  /** The same for a claim of the reserved slot. */
  spareShare(): SlotShare
  /** The number of working runs of each model, by its id. */
  readonly ofModel: ReadonlyMap<string, number>
  /** Whether anybody's run of this model may have a slot. */
  hasRoom(model: Model): boolean
  /** Whether a run that has its files may have a slot; `othersWait` for slots within the share only. */
  mayWork(run: Placed, othersWait: boolean): boolean
}

/** Counts slots; runs of light engines take none, but count for their models. */
export function countSlots(runs: Iterable<Placed>, isLight: (model: Model) => boolean, bounds: SlotBounds): TakenSlots {
  const held = new Map<string, number>()
  const ofModel = countModels(runs, ({ phase }) => phase === 'working')
  let taken = 0
  for (const run of runs) {
    if (run.isLight || run.phase !== 'working') continue
    held.set(run.accountId, (held.get(run.accountId) ?? 0) + 1)
    taken += 1
  }
  const free = Math.max(0, bounds.slots - taken)
  const hasSpare = free === 0 && taken < bounds.slots + bounds.spare
  const isWithin = (model: Model): boolean => (ofModel.get(model.id) ?? 0) < model.concurrency
  return {
    free,
    hasSpare,
    ofModel,
    share: () => ({ held: Object.fromEntries(held), most: bounds.perAccount, strict: false }),
    spareShare: () => ({ held: Object.fromEntries(held), most: 1, strict: true }),
    hasRoom: (model) => isWithin(model) && (isLight(model) || free > 0),
    mayWork({ model, accountId, isLight: takesNone }, othersWait) {
      if (!isWithin(model)) return false
      if (takesNone) return true
      const holds = held.get(accountId) ?? 0
      return free > 0 ? !othersWait || holds < bounds.perAccount : hasSpare && holds === 0
    },
  }
}

/** How many of some runs there are of each model, by its id. */
export function countModels<Counted extends Placed>(
  runs: Iterable<Counted>,
  counts: (run: Counted) => boolean = () => true,
): ReadonlyMap<string, number> {
  const ofModel = new Map<string, number>()
  for (const run of runs) if (counts(run)) ofModel.set(run.model.id, (ofModel.get(run.model.id) ?? 0) + 1)
  return ofModel
}
