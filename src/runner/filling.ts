// Gives the places of a worker: to runs that have their files, and to jobs of the queue, in turns.
import type { Engine } from '@mediagen/engine/engine.ts'
import type { ClaimedJob } from '../core/job.ts'
import type { Catalog, Model } from '../core/model.ts'
import type { PlaceShare, Store } from '../core/store.ts'
import { countPlaces, type PlaceBounds, type TakenPlaces } from './places.ts'
import type { Run } from './run.ts'

// So many jobs of light engines are claimed at a time: others wait for the transaction.
const lightClaims = 128
// Runs that wait for strangers' servers, or have their files and wait for a place: so many for each place there is, in all and of
// one account. Of more in all, each takes a place; an account that has so many claims no more.
const aheadPerPlace = 8
const aheadPerPlaceOfAccount = 2

/** A model that waits and may run. */
interface Room {
  readonly model: Model
  /** How many more jobs of it may run here. */
  readonly places: number
}

/** What giving places needs. */
export interface FillingParts {
  readonly store: Pick<Store, 'listWaitingModels' | 'claimJobs'>
  readonly catalog: Catalog
  readonly engines: ReadonlyMap<string, Engine>
  readonly places: PlaceBounds
  /** Name of this worker. */
  readonly worker: string
  readonly leaseMs: number
  /** The runs that are under way. */
  readonly runs: ReadonlySet<Run>
  /** Begins the run of a job that was claimed. */
  readonly begin: (claimed: ClaimedJob) => Run
  readonly isStopped: () => boolean
  /** Asks for another round. */
  readonly again: () => void
  /** Called when jobs wait for a model that is not ready: nobody tells when it is. */
  readonly onUnready: () => void
}

/** Creates what gives all places that can be given now. */
export function createFilling(parts: FillingParts): () => Promise<void> {
  const { store, runs, leaseMs, begin, isStopped, again, onUnready } = parts
  const readyModels = rememberReady(parts.catalog)
  // Models whose next place is for the queue: it takes turns with runs that have their files, so that neither keeps the other waiting.
  const queueIsNext = new Set<Model>()
  const lookAtPlaces = (): TakenPlaces => countPlaces(runs, isLight, parts.places)

  async function fill(): Promise<void> {
    const first = admit(true, (model) => !queueIsNext.has(model) && queueIsNext.add(model))
    const taken = lookAtPlaces()
    for (const model of queueIsNext) if (taken.hasRoom(model)) queueIsNext.delete(model)
    if (!isStopped()) await claim(taken)
    // What the queue has left.
    const further = admit(true, () => true) + admit(false, () => true)
    if (first + further > 0) again()
  }

  /** Gives places to runs that have their files, to those within their share only if others wait; answers with how many. */
  function admit(othersWait: boolean, mayHave: (model: Model) => unknown): number {
    let admitted = 0
    for (const run of runs) {
      if (run.phase !== 'fetched' || !lookAtPlaces().mayWork(run, othersWait) || !mayHave(run.model)) continue
      run.admit()
      admitted += 1
    }
    return admitted
  }

  async function claim(taken: TakenPlaces): Promise<void> {
    const ready = readyModels()
    const models = await store.listWaitingModels()
    if (models.some((id) => !ready.has(id))) onUnready()
    const [working, ahead] = split([...runs], ({ phase }) => phase === 'working')
    const tooMany = Math.max(0, ahead.length - aheadPerPlace * parts.places.places)
    const waiting = countRoom(models, ready, tooMany > 0 ? runs : working)
    const [light, heavy] = split(waiting, ({ model }) => isLight(model))
    const except = findAccounts(ahead, aheadPerPlaceOfAccount * parts.places.places)
    // A run that has its files and is within its share comes before jobs of accounts that are beyond theirs.
    const strict = ahead.some((run) => run.phase === 'fetched' && taken.mayWork(run, true))
    const spare = taken.hasSpare && tooMany === 0
    // Both in one turn, and so in one transaction. Of spare places one is given at a time.
    const takes = [
      spare
        ? take(heavy, 1, 1, except, taken.spareShare())
        : take(heavy, taken.free - tooMany, Number.POSITIVE_INFINITY, except, { ...taken.share(), strict }),
      take(light, lightClaims, lightClaims, except),
    ]
    // Whoever stops must know of every run that this round has begun, even when one half of it fails.
    for (const taking of await Promise.allSettled(takes)) if (taking.status === 'rejected') throw taking.reason
  }

  /** @param full so many claims say that there may be more to claim */
  async function take(
    models: readonly Room[],
    limit: number,
    full: number,
    except: readonly string[],
    share?: PlaceShare,
  ): Promise<void> {
    if (models.length === 0 || limit <= 0) return
    const room = Object.fromEntries(models.map(({ model, places }) => [model.id, places]))
    const { worker } = parts
    const claims = await store.claimJobs({ worker, room, limit, leaseMs, except, ...(share && { share }) })
    const begun = claims.map(begin)
    // Whoever waits for strangers has taken no place.
    if (claims.length === full || begun.some(({ phase }) => phase === 'fetching')) again()
  }

  function isLight({ engine }: Model): boolean {
    return parts.engines.get(engine.kind)?.light === true
  }

  return fill
}

/** The ready models by id, made again only when another set is ready. */
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

/** How many more jobs of each ready model may run, for the models that wait: there may be thousands of others. */
function countRoom(waiting: readonly string[], ready: ReadonlyMap<string, Model>, runs: Iterable<Run>): Room[] {
  const running = new Map<string, number>()
  for (const { model } of runs) running.set(model.id, (running.get(model.id) ?? 0) + 1)
  return waiting.flatMap((id) => {
    const model = ready.get(id)
    const places = model ? model.concurrency - (running.get(id) ?? 0) : 0
    return model && places > 0 ? [{ model, places }] : []
  })
}

/** Accounts that have so many of the runs. */
function findAccounts(runs: readonly Run[], least: number): string[] {
  const counts = new Map<string, number>()
  for (const { accountId } of runs) counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
  return [...counts].flatMap(([accountId, count]) => (count >= least ? [accountId] : []))
}

function split<Item>(items: readonly Item[], belongs: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(belongs), items.filter((item) => !belongs(item))]
}
