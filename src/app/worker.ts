// The worker: the runner with its engines, slots and folders.
import { availableParallelism } from 'node:os'
import type { Engine } from '@mediagen/engine/engine.ts'
import type { Logger } from 'pino'
import type { Catalog } from '../catalog/model.ts'
import type { Config } from '../config.ts'
import type { Traces } from '../core/traces.ts'
import { startRunner } from '../runner/runner.ts'
import type { SlotBounds } from '../runner/slots/slots.ts'
import type { WorkerDirectory } from '../runner/worker-directory.ts'
import type { Grace } from './doors/grace.ts'
import { createMedia, createOutputDownloader, type MediaDeps } from './media.ts'
import type { Metrics } from './observe/metrics.ts'

/** What the worker needs. */
export interface WorkerDeps extends MediaDeps {
  readonly catalog: Catalog
  readonly grace: Grace
  readonly engines: readonly Engine[]
  readonly workerDirectory: WorkerDirectory
  readonly log: Logger
  readonly traces: Traces
  readonly metrics: Metrics
}

/** What runs jobs. */
export function startWorker(config: Config, deps: WorkerDeps): AsyncDisposable {
  const { store, files, catalog, engines, workerDirectory, log, traces, metrics } = deps
  const { source: media, close } = createMedia(config, deps)
  const downloader = createOutputDownloader(config, deps.overrides)
  const runner = startRunner({
    store,
    catalog,
    log,
    traces,
    assets: files.assets,
    engines: new Map(engines.map((engine) => [engine.kind, engine])),
    media,
    download: downloader.download,
    maxInputBytes: config.maxInputBytes,
    paidOutputMs: config.paidOutputSeconds * 1000,
    holdsUnsigned: config.signFailure === 'review',
    workFolder: workerDirectory.work,
    slots: readSlots(config),
    worker: workerDirectory.name,
    ...readSweeping(config),
    random: Math.random,
    onRunEnded: metrics.countJob,
    onRunningChanged(running) {
      // While the engine works there is time for it.
      if (running > 0) files.assets.warm()
      metrics.setRunning(running)
    },
  })
  for (const engine of engines) engine.warm?.()
  return {
    async [Symbol.asyncDispose]() {
      await runner.stop(deps.grace())
      await Promise.all([close(), downloader[Symbol.asyncDispose]()])
    },
  }
}

function readSlots({ slots: chosen, slotsPercent, spareProcesses: spare }: Config): SlotBounds {
  const slots = chosen || availableParallelism() * 2
  return { slots, perAccount: Math.max(1, Math.floor((slots * slotsPercent) / 100)), spare }
}

/** What the sweeper needs of the settings. */
export function readSweeping(config: Config): { leaseMs: number; reviewMs: number } {
  return { leaseMs: config.leaseSeconds * 1000, reviewMs: config.reviewHours * 3_600_000 }
}
