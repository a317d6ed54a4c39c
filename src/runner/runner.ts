// Takes queued jobs while there is room, keeps their claims, and hears of cancels. What a run does is in run.ts.
import type { ClaimedJob } from '../core/job.ts'
import type { Catalog, Model } from '../core/model.ts'
import { createRound } from '../core/round.ts'
import type { Store } from '../core/store.ts'
import { type Run, type RunParts, startRun } from './run.ts'
import { startSweeper, type SweeperParts } from './sweeper.ts'

// Claims are renewed this often, in one batch; progress and checkpoints ride on it.
const heartbeatMs = 1000
// New jobs are told by the store; what other processes did is looked for this often.
const lookMs = 500
// So many jobs of light engines are claimed at a time: others wait for the transaction.
const lightClaims = 128
// Runs that wait for strangers' servers, or have their files and wait for a place: so many for each place there is, in all and of
// one account. Of more in all, each takes a place; an account that has so many claims no more.
const aheadPerPlace = 8
const aheadPerPlaceOfAccount = 2

/** What the runner needs. */
export interface RunnerParts extends Omit<RunParts, 'onFetched'>, SweeperParts {
  readonly store: SweeperParts['store'] &
    Pick<
      Store,
      'listWaitingModels' | 'claimJobs' | 'heartbeat' | 'finishJob' | 'getJob' | 'onJobsChanged' | 'changeCounter'
    >
  readonly catalog: Catalog
  /** Jobs that may run here at once, of all models whose engine is not light. */
  readonly concurrency: number
  readonly onRunningChanged: (jobs: number) => void
  /** Name of this worker. */
  readonly worker: string
}

/** A model that waits and may run. */
interface Room {
  readonly model: Model
  /** How many more jobs of it may run here. */
  readonly places: number
}

/** A runner at work. */
export interface Runner {
  /** Takes no more jobs, lets running ones finish for `graceMs`, then gives them back to the queue. */
  stop(graceMs: number): Promise<void>
}

/** Starts a runner. */
export function startRunner(parts: RunnerParts): Runner {
  const { store, catalog, log, leaseMs } = parts
  const runs = new Set<Run>()
  // Of each job the run that has the claim: an earlier one may still be on its way out.
  const current = new Map<string, Run>()
  const readyModels = rememberReady(catalog)
  let stopped = false
  let seenCounter = Number.NaN
  // Models whose next place is for the queue: it takes turns with runs that have their files, so that neither keeps the other waiting.
  const queueIsNext = new Set<Model>()

  async function fill(): Promise<void> {
    const first = admit((model) => !queueIsNext.has(model) && queueIsNext.add(model))
    for (const model of queueIsNext) if (hasPlace(model)) queueIsNext.delete(model)
    if (!stopped) await claim()
    // What the queue has left.
    const further = admit(() => true)
    if (first + further > 0) filling.again()
  }

  /** Gives places to runs that have their files; answers with how many. */
  function admit(mayHave: (model: Model) => unknown): number {
    let admitted = 0
    for (const run of runs) {
      if (run.phase !== 'fetched' || !hasPlace(run.model) || !mayHave(run.model)) continue
      run.admit()
      admitted += 1
    }
    return admitted
  }

  function hasPlace(model: Model): boolean {
    const working = [...runs].filter(({ phase }) => phase === 'working')
    if (working.filter((run) => run.model.id === model.id).length >= model.concurrency) return false
    return isLight(model) || working.filter((run) => !isLight(run.model)).length < parts.concurrency
  }

  async function claim(): Promise<void> {
    const ready = readyModels()
    const models = await store.listWaitingModels()
    // Nobody tells when a model becomes ready.
    if (models.some((id) => !ready.has(id))) seenCounter = Number.NaN
    const [working, ahead] = split([...runs], ({ phase }) => phase === 'working')
    const tooMany = Math.max(0, ahead.length - aheadPerPlace * parts.concurrency)
    const waiting = countRoom(models, ready, tooMany > 0 ? runs : working)
    const [light, heavy] = split(waiting, ({ model }) => isLight(model))
    const heavyRuns = working.filter(({ model }) => !isLight(model)).length
    const except = findAccounts(ahead, aheadPerPlaceOfAccount * parts.concurrency)
    // Both in one turn, and so in one transaction.
    const takes = [take(heavy, parts.concurrency - heavyRuns - tooMany, except), take(light, lightClaims, except)]
    // Whoever stops must know of every run that this round has begun, even when one half of it fails.
    for (const taken of await Promise.allSettled(takes)) if (taken.status === 'rejected') throw taken.reason
  }

  async function take(models: readonly Room[], limit: number, except: readonly string[]): Promise<void> {
    if (models.length === 0 || limit <= 0) return
    const room = Object.fromEntries(models.map(({ model, places }) => [model.id, places]))
    const claims = await store.claimJobs({ worker: parts.worker, room, limit, leaseMs, except })
    const begun = claims.map(begin)
    // Whoever waits for strangers has taken no place.
    if (claims.length === lightClaims || begun.some(({ phase }) => phase === 'fetching')) filling.again()
  }

  function isLight({ engine }: Model): boolean {
    return parts.engines.get(engine.kind)?.light === true
  }

  function begin(claimed: ClaimedJob): Run {
    const model = catalog.find(claimed.job.model)
    // Only models with room were claimed, and those are in the catalog.
    if (!model) throw new Error(`claimed a job of the unknown model ${claimed.job.model}`)
    current.get(claimed.job.jobId)?.stop('lost')
    const run = startRun(claimed, model, { ...parts, onFetched: () => filling.again() })
    runs.add(run)
    current.set(run.jobId, run)
    parts.onRunningChanged(runs.size)
    void run.done.then(() => {
      runs.delete(run)
      if (current.get(run.jobId) === run) current.delete(run.jobId)
      parts.onRunningChanged(runs.size)
      filling.again()
    })
    return run
  }

  async function beat(): Promise<void> {
    if (current.size === 0) return
    const asked = new Map(current)
    const beats = [...asked.values()].map((run) => run.takeNews())
    const { lost, cancelRequested, deadlinePassed } = await store.heartbeat(beats, leaseMs)
    for (const jobId of lost) asked.get(jobId)?.stop('lost')
    for (const jobId of cancelRequested) asked.get(jobId)?.stop('canceled')
    for (const jobId of deadlinePassed) asked.get(jobId)?.stop('deadline')
  }

  /** Cancels by this process need not wait for a heartbeat. */
  async function hearCancels(jobIds: readonly string[]): Promise<void> {
    for (const jobId of jobIds) {
      const run = current.get(jobId)
      if (run && !run.isDecided() && (await store.getJob(null, jobId))?.cancelRequested) run.stop('canceled')
    }
  }

  /** Claims when another process has changed something, or when the last time left something undone. */
  async function look(): Promise<void> {
    const counter = await store.changeCounter()
    if (counter !== seenCounter) filling.again()
    seenCounter = counter
  }

  const filling = createRound(fill, (error) => {
    log.error({ err: error }, 'jobs could not be claimed')
    seenCounter = Number.NaN
  })
  // A look that fails is made again when the timer comes round.
  const looking = createRound(look, () => {})
  const beating = createRound(beat, (error) => log.error({ err: error }, 'runs could not be reported'))

  const heartbeatTimer = setInterval(() => beating.again(), heartbeatMs)
  const lookTimer = setInterval(() => looking.again(), lookMs)
  const ignoreChanges = store.onJobsChanged((jobIds) => {
    // Should this fail, the heartbeat tells.
    hearCancels(jobIds).catch((error: unknown) => log.error({ err: error }, 'a changed job could not be read'))
    if (jobIds.some((jobId) => !current.has(jobId))) filling.again()
  })
  const sweeper = startSweeper(parts)
  filling.again()

  return {
    async stop(graceMs) {
      stopped = true
      clearInterval(lookTimer)
      ignoreChanges()
      await sweeper.stop()
      await looking.settled()
      await filling.settled()
      const timer = setTimeout(() => {
        for (const run of runs) run.stop('stopping')
      }, graceMs)
      await Promise.all([...runs].map((run) => run.done))
      clearTimeout(timer)
      clearInterval(heartbeatTimer)
      await beating.settled()
    },
  }
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
