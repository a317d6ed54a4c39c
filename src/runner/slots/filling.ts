// Assigns the slots of a worker to runs that have their files and to queued jobs, in turns.
import type { Engine } from '@mediagen/engine/engine.ts'
import type { Catalog, Model } from '../../catalog/model.ts'
import type { ClaimedJob } from '../../core/jobs/job.ts'
import type { SlotShare, Store } from '../../core/store.ts'
import { isLight, type Run } from '../run.ts'
import { countModels, countSlots, type SlotBounds, type TakenSlots } from './slots.ts'

// Jobs of light engines claimed at a time; other commands wait for the transaction.
const lightClaims = 128
// Runs that fetch from other servers, or have their files and wait for a slot: this many for each slot, in total and per
// account. Beyond the total, each takes a slot; an account at its maximum claims no more.
const aheadPerSlot = 8
const aheadPerSlotOfAccount = 2

/** A model with waiting jobs that may run. */
interface Room {
  readonly model: Model
  /** How many more jobs of it may run here. */
  readonly slots: number
}

/** The parts that this needs. */
export interface FillingDeps {
  readonly store: Pick<Store, 'listWaitingModels' | 'claimJobs'>
  readonly catalog: Catalog
  readonly engines: ReadonlyMap<string, Engine>
  readonly slots: SlotBounds
  /** Name of this worker. */
  readonly worker: string
  readonly leaseMs: number
  /** The current runs. */
  readonly runs: ReadonlySet<Run>
  /** Starts the run of a claimed job. */
  readonly begin: (claimed: ClaimedJob) => Run
  readonly isStopped: () => boolean
  /** Requests another round. */
  readonly again: () => void
}

/** Creates a function that assigns all slots that can be assigned now. */
export function createFilling(deps: FillingDeps): () => Promise<void> {
  const { store, runs, leaseMs, begin, isStopped, again } = deps
  const readyModels = rememberReady(deps.catalog)
  const takesNoSlot = (model: Model): boolean => isLight(deps.engines, model)
  // Models whose next slot goes to the queue, which takes turns with runs that have their files, so neither starves.
  const queueIsNext = new Set<Model>()
  const lookAtSlots = (counted: Iterable<Run> = runs): TakenSlots => countSlots(counted, takesNoSlot, deps.slots)

  async function fill(): Promise<void> {
    const first = admit(true, (model) => !queueIsNext.has(model) && queueIsNext.add(model))
    const before = [...runs]
    const taken = lookAtSlots()
    for (const model of queueIsNext) if (taken.hasRoom(model)) queueIsNext.delete(model)
    const left = isStopped() ? Number.POSITIVE_INFINITY : await claim(taken)
    const within = admit(true, () => true)
    // The slots that the queue left. Those of runs that ended meanwhile were not offered to it; the next round does that.
    const withEnded = (): Set<Run> => new Set([...before, ...runs])
    const beyond = admit(false, () => true, left, withEnded)
    if (first + within + beyond > 0) again()
  }

  /**
   * Assigns slots to runs that have their files; if others wait, only within their share.
   * @param most how many
   * @param counted the runs whose slots count
   * @returns how many were assigned
   */
  function admit(
    othersWait: boolean,
    mayHave: (model: Model) => unknown,
    most = Number.POSITIVE_INFINITY,
    counted = (): Iterable<Run> => runs,
  ): number {
    let admitted = 0
    for (const run of runs) {
      if (admitted >= most) break
      if (run.phase !== 'fetched' || !lookAtSlots(counted()).mayWork(run, othersWait) || !mayHave(run.model)) continue
      run.admit()
      admitted += 1
    }
    return admitted
  }

  /** Offers the free slots to the queue. Returns how many it surely left: any that are free, or those it was not offered. */
  async function claim(taken: TakenSlots): Promise<number> {
    const ready = readyModels()
    const models = await store.listWaitingModels()
    const ahead = [...runs].filter(({ phase }) => phase !== 'working')
    const tooMany = Math.max(0, ahead.length - aheadPerSlot * deps.slots.slots)
    const waiting = countRoom(models, ready, tooMany > 0 ? countModels(runs) : taken.ofModel)
    const [light, heavy] = split(waiting, ({ model }) => takesNoSlot(model))
    const { except, left } = countLeft(ahead, aheadPerSlotOfAccount * deps.slots.slots)
    // A run with files within its share comes before jobs of accounts beyond theirs.
    const strict = ahead.some((run) => run.phase === 'fetched' && taken.mayWork(run, true))
    const spare = taken.hasSpare && tooMany === 0
    const free = taken.free - tooMany
    // All of one claim may be jobs of one account; another round claims the rest.
    const limit = Math.min(free, left)
    const full = limit < free ? limit : Number.POSITIVE_INFINITY
    // Both in one turn of the event loop, so in one transaction. Spare slots are assigned one at a time. The stop must know
    // every run that this round began, even if one half of it fails.
    const [ofHeavy, ofLight] = await Promise.allSettled([
      spare
        ? take(heavy, 1, 1, except, taken.spareShare())
        : take(heavy, limit, full, except, { ...taken.share(), strict }),
      take(light, lightClaims, lightClaims, except),
    ])
    if (ofHeavy.status === 'rejected') throw ofHeavy.reason
    if (ofLight.status === 'rejected') throw ofLight.reason
    // A queue that gave as many jobs as it was asked for may have more.
    return ofHeavy.value < limit ? Number.POSITIVE_INFINITY : tooMany
  }

  /**
   * Claims jobs, begins their runs, and returns how many.
   * @param full this many claims mean that there may be more
   */
  async function take(
    models: readonly Room[],
    limit: number,
    full: number,
    except: readonly string[],
    share?: SlotShare,
  ): Promise<number> {
    if (models.length === 0 || limit <= 0) return 0
    const room = Object.fromEntries(models.map(({ model, slots }) => [model.id, slots]))
    const { worker } = deps
    const claims = await store.claimJobs({ worker, room, limit, leaseMs, except, ...(share && { share }) })
    const begun = claims.map(begin)
    // Runs that wait for other servers take no slot.
    if (claims.length === full || begun.some(({ phase }) => phase === 'fetching')) again()
    return claims.length
  }

  return fill
}

/** The ready models by id, rebuilt only when the set changes. */
function rememberReady(catalog: Catalog): () => ReadonlyMap<string, Model> {
  let source: readonly Model[] = []
  let byId: ReadonlyMap<string, Model> = new Map()
  return () => {
    const ready = catalog.ready()
    if (ready !== source) {
      source = ready
      byId = new Map(ready.map((model) => [model.id, model]))
    }
    return byId
  }
}

/** How many more jobs may run, for each ready model with waiting jobs; there may be thousands of others. */
function countRoom(
  waiting: readonly string[],
  ready: ReadonlyMap<string, Model>,
  running: ReadonlyMap<string, number>,
): Room[] {
  return waiting.flatMap((id) => {
    const model = ready.get(id)
    const slots = model ? model.concurrency - (running.get(id) ?? 0) : 0
    return model && slots > 0 ? [{ model, slots }] : []
  })
}

/** The accounts that have at least `most` of the runs, and how many more the next one may have before it does. */
function countLeft(runs: readonly Run[], most: number): { except: string[]; left: number } {
  const counts = new Map<string, number>()
  for (const { accountId } of runs) counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
  const except: string[] = []
  let left = most
  for (const [accountId, count] of counts)
    if (count >= most) except.push(accountId)
    else left = Math.min(left, most - count)
  return { except, left }
}

function split<Item>(items: readonly Item[], belongs: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(belongs), items.filter((item) => !belongs(item))]
}
