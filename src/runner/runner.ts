// Claims queued jobs while there is room, renews their claims, and receives cancels. run.ts has the run itself.
import type { Catalog } from '../catalog/model.ts'
import { everySecond } from '../core/every-second.ts'
import type { ClaimedJob } from '../core/jobs/job.ts'
import { createRound } from '../core/round.ts'
import type { JobNotification, Store } from '../core/store.ts'
import type { RunDeps } from './attempt.ts'
import { type PendingWorkDeps, startPendingWork } from './pending-work.ts'
import { type Run, startRun } from './run.ts'
import { createFilling } from './slots/filling.ts'
import type { SlotBounds } from './slots/slots.ts'
import { startSweeper, type SweeperDeps } from './sweeper.ts'

/** What the runner needs. */
export interface RunnerDeps extends Omit<RunDeps, 'onFetched'>, SweeperDeps {
  readonly store: SweeperDeps['store'] &
    PendingWorkDeps['store'] &
    Pick<
      Store,
      | 'listWaitingModels'
      | 'claimJobs'
      | 'heartbeat'
      | 'saveCheckpoint'
      | 'showPreview'
      | 'finishJob'
      | 'getInput'
      | 'getJob'
      | 'onNotification'
    >
  readonly catalog: Catalog
  readonly slots: SlotBounds
  readonly onRunningChanged: (jobs: number) => void
  /** Name of this worker. */
  readonly worker: string
}

/** A running runner. */
export interface Runner {
  /** Claims no more jobs, lets running ones finish for `graceMs`, then returns them to the queue. */
  stop(graceMs: number): Promise<void>
}

/** Starts a runner. */
export function startRunner(deps: RunnerDeps): Runner {
  const { store, catalog, log, leaseMs } = deps
  const runs = new Set<Run>()
  // The run of each job that has the claim; an earlier one may still be ending.
  const current = new Map<string, Run>()
  let stopped = false
  function begin(claimed: ClaimedJob): Run {
    const model = catalog.find(claimed.job.model)
    // Only models with room were claimed, and those are in the catalog.
    if (!model) throw new Error(`claimed a job of the unknown model ${claimed.job.model}`)
    current.get(claimed.job.jobId)?.stop('lost')
    const run = startRun(claimed, model, { ...deps, onFetched: () => filling.again() })
    runs.add(run)
    current.set(run.jobId, run)
    deps.onRunningChanged(runs.size)
    void run.done.then(() => {
      runs.delete(run)
      if (current.get(run.jobId) === run) current.delete(run.jobId)
      deps.onRunningChanged(runs.size)
      filling.again()
    })
    return run
  }

  async function beat(): Promise<void> {
    if (current.size === 0) return
    const beating = new Map(current)
    const beats = [...beating.values()].map((run) => run.takeHeartbeat())
    const { lost, cancelRequested, deadlinePassed } = await store.heartbeat(beats, leaseMs)
    for (const jobId of lost) beating.get(jobId)?.stop('lost')
    for (const jobId of cancelRequested) beating.get(jobId)?.stop('canceled')
    for (const jobId of deadlinePassed) beating.get(jobId)?.stop('deadline')
  }

  /** Cancels by this process need not wait for a heartbeat. */
  async function hearCancels(jobs: readonly JobNotification[]): Promise<void> {
    for (const { jobId, job } of jobs) {
      const run = current.get(jobId)
      if (run && !run.isDecided() && (job ?? (await store.getJob(null, jobId)))?.cancelRequested) run.stop('canceled')
    }
  }

  const fill = createFilling({
    ...deps,
    runs,
    begin,
    isStopped: () => stopped,
    again: () => filling.again(),
  })
  const filling = createRound(fill, (error) => log.error({ err: error }, 'jobs could not be claimed'))
  const beating = createRound(beat, (error) => log.error({ err: error }, 'runs could not be reported'))

  // Claims are renewed in one batch with progress and checkpoints.
  const stopBeating = everySecond(() => beating.again())
  // Notifications of queued jobs may be lost, and there is none when a model becomes ready.
  const stopLooking = everySecond(() => filling.again())
  const ignoreNotifications = store.onNotification((jobs) => {
    if (jobs === null) return filling.again()
    // If this fails, the heartbeat reports the cancel.
    hearCancels(jobs).catch((error: unknown) => log.error({ err: error }, 'a changed job could not be read'))
    // Jobs that were just claimed become runs in this turn of the event loop; only others may need a slot.
    setImmediate(() => {
      if (jobs.some(({ jobId, queued }) => queued && !current.has(jobId))) filling.again()
    })
  })
  const sweeper = startSweeper(deps)
  const pendingWork = startPendingWork(deps)
  filling.again()

  return {
    async stop(graceMs) {
      stopped = true
      stopLooking()
      ignoreNotifications()
      await Promise.all([sweeper.stop(), pendingWork.stop()])
      await filling.settled()
      const timer = setTimeout(() => {
        for (const run of runs) run.stop('stopping')
      }, graceMs)
      await Promise.all([...runs].map((run) => run.done))
      clearTimeout(timer)
      stopBeating()
      await beating.settled()
    },
  }
}
