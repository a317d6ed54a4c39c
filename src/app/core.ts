// The core: builds every part in reading order, disposes of them in reverse.
import { takeRandomBytes } from '@mediagen/engine/random-bytes.ts'
import type { Logger } from 'pino'
import { readCovers } from '../catalog/covers.ts'
import type { Config } from '../config.ts'
import { createIdSource } from '../core/ids.ts'
import type { Store } from '../core/store.ts'
import type { Secrets } from '../engines/secrets.ts'
import { startFeed } from '../feed/feed.ts'
import { startExpiry } from '../files/expiry.ts'
import { readCredentials } from '../files/media/provenance/sign/certificate.ts'
import { startRefusedRemoval } from '../files/refused.ts'
import { createReadiness } from '../gateway/routes/health.ts'
import { createInProcessTransport } from '../rpc/in-process.ts'
import { startSweeper } from '../runner/sweeper.ts'
import { createWorkerDirectory, succeedDead } from '../runner/worker-directory.ts'
import { createWatches, type Watches } from '../services/watches.ts'
import type { App, Overrides } from './app.ts'
import { findBuiltin } from './builtin.ts'
import { createContainmentFinder } from './containment.ts'
import { checkDoorModels } from './doors/door-models.ts'
import { openDoors, logReady } from './doors/doors.ts'
import { createGrace } from './doors/grace.ts'
import { tryPorts } from './doors/ports.ts'
import { openFiles, tryBucket } from './files.ts'
import { createEngines, createSampleFiles } from './models.ts'
import { startLedgerRootLog } from './observe/ledger-root.ts'
import { showLostLines } from './observe/log.ts'
import { measureStore } from './observe/measured.ts'
import { createMetrics, type Metrics } from './observe/metrics.ts'
import { createTroubleFinder, watchStarts } from './observe/readiness.ts'
import type { OpenTraces } from './observe/traces.ts'
import { logWaiting } from './observe/waiting-models.ts'
import { openOperatorCatalog } from './operator/check-providers.ts'
import { createOperatorTransport, logActs } from './operator/operator.ts'
import { startPipeline } from './pipeline.ts'
import { createServices, readWatchBounds } from './services.ts'
import { readSignIn, startSignIns } from './sign-in.ts'
import { layOut } from './store/data-dir.ts'
import { openStore } from './store/store.ts'
import { createSubmissionNotifications } from './submission-notifications.ts'
import { createWebhookTests, startWebhooks } from './webhooks.ts'
import { startWorker, readSweeping } from './worker.ts'

/** Starts a core with its doors, and a worker where the roles say so. */
export async function startCore(
  config: Config,
  overrides: Overrides & { log: Logger; traces: OpenTraces; secrets: Secrets },
): Promise<App> {
  const { log, traces, secrets } = overrides
  const { maxQueueMs, maxQueuedWrites, maxQueuedReads } = config
  await using closing = new AsyncDisposableStack()
  closing.defer(async () => void (await traces.close()))
  const grace = createGrace(config.stopGraceSeconds)
  let stopping = false
  let publicUrl = ''

  const signIn = readSignIn(config, secrets)
  const { builtin = await findBuiltin() } = overrides
  if (builtin === null) log.info('the built-in models are not installed')
  const folders = layOut(config.dataDir)
  const worker = createIdSource(() => Date.now(), takeRandomBytes).next('worker')
  const workerDirectory = createWorkerDirectory(folders, worker)
  // What works in its folders is disposed of first.
  closing.defer(() => workerDirectory.leave())
  const processFolder = workerDirectory.processes
  const containment = createContainmentFinder(config, processFolder, log)
  const engineDeps = { log, traces, secrets, processes: { folder: processFolder, containment }, openStore: () => store }
  const engines = await createEngines(builtin, config, engineDeps, overrides.engines)
  for (const engine of engines) closing.defer(() => engine.close())
  const catalog = await openOperatorCatalog(builtin, config, engines, secrets, overrides.clock)
  if (config.roles.has('api')) checkDoorModels(config, catalog)
  await tryPorts(config)
  await tryBucket(config)
  checkFiles(config, log)

  const metrics = createMetrics()
  showLostLines(metrics)
  const opened = await openStore(config, {
    name: worker,
    migrates: config.migrates,
    clock: overrides.clock,
    maxQueueMs,
    maxQueuedWrites,
    maxQueuedReads,
    ...(overrides.threads && { threads: overrides.threads }),
  })
  const starts = watchStarts(opened)
  const store = measureStore({ ...closing.use(opened), startGeneration: starts.startGeneration }, metrics)
  logActs(store, log)
  // Processes must agree on times, so the clock is that of the store.
  const { clock = store } = overrides
  // Not earlier: a refused start leaves nothing behind, and the store explains why nothing can be created there.
  workerDirectory.open()
  await succeedDead(workerDirectory, store, log)
  const files = closing.use(
    await openFiles(config, { store, metrics, clock, processFolder, containment, publicUrl: () => publicUrl }),
  )
  const { urls } = files
  // The first start makes the key, so that a database that cannot be written stops the start and not a request.
  await store.signingKeys('quote')

  // Others may serve the same database from other machines.
  const isAlone = (): boolean => config.databaseUrl === null && workerDirectory.isAlone()
  const feed = startFeed(store)
  closing.defer(() => feed.stop())
  const watches = createWatches(readWatchBounds(config))
  showGauges(metrics, store, watches)
  const pipeline = closing.use(startPipeline(config, { store, clock, log, traces, metrics, isAlone, signIn }))
  const sendTest = createWebhookTests(config, clock, closing)
  const services = createServices(
    config,
    { store, files, catalog, feed, watches, clock, sendTest, publicUrl: () => publicUrl, isStopping: () => stopping },
    pipeline,
  )
  const inProcess = createInProcessTransport(services)
  const unready = createReadiness(createTroubleFinder(store, starts, files.blobs))
  const servesApi = config.roles.has('api')
  const doors = closing.use(
    await openDoors(config, {
      log,
      traces,
      logUnauthenticated: pipeline.logUnauthenticated,
      metrics,
      unready: async () => (stopping ? 'the server is stopping' : await unready()),
      transport: servesApi ? inProcess : null,
      keys: pipeline.access,
      rpc: servesApi ? { services, pipeline } : null,
      assets: {
        blobs: files.keptBlobs,
        urls,
        samples: createSampleFiles(catalog.models),
        covers: () => readCovers(catalog.models),
      },
      submissions: createSubmissionNotifications(store),
      signIns: await startSignIns(signIn, config, { store, clock, log }),
      grace,
      onPublicUrl: (url) => (publicUrl = url),
    }),
  )

  const retainMs = config.retainHours * 3_600_000
  const retention = startRetention(config, { store, folders: files.folders, retainMs, log })
  closing.defer(() => retention.stop())
  closing.defer(startLedgerRootLog({ store, log }).stop)

  if (config.roles.has('worker')) {
    const removal = startRefusedRemoval({ folder: folders.refused, store, retainMs, clock }, log)
    closing.defer(() => removal.stop())
    // Stopped after the runner, so that the ends of the last jobs are sent, too.
    closing.use(startWebhooks(config, { store, urls, clock, log, traces, metrics, grace }))
    const work = { store, files, catalog, engines, workerDirectory, log, traces, metrics, grace, overrides }
    closing.use(startWorker(config, work))
  } else {
    // Handles deadlines, lost workers and reviews although no worker runs here.
    const sweeper = startSweeper({ store, ...readSweeping(config), random: Math.random, log })
    closing.defer(() => sweeper.stop())
  }
  // Disposed of first: waiting clients are answered before anything else stops.
  closing.defer(() => {
    stopping = true
    grace()
    doors.drain()
    feed.stop()
  })

  logReady(log, doors.addresses, { worker, roles: [...config.roles], models: catalog.ready().length })
  const owned = closing.move()
  return {
    ...doors.addresses,
    services: inProcess,
    waiting: logWaiting(log, catalog, clock.nowMs()),
    operator: createOperatorTransport(store, config, clock),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Removes what has expired. Done by the leader, whatever its role; two at once do no harm. */
function startRetention({ keepJobsDays }: Config, deps: Omit<Parameters<typeof startExpiry>[0], 'keepJobsMs'>) {
  return startExpiry({ ...deps, keepJobsMs: keepJobsDays && keepJobsDays * 86_400_000 })
}

/** Shows what is waiting and how far clocks are apart. */
function showGauges(metrics: Metrics, store: Store, watches: Watches): void {
  metrics.showGauge('mediagen_watches_open', 'Open watches of jobs', watches.opened)
  metrics.showGauge(
    'mediagen_write_delay_seconds',
    'How long the oldest change has waited for the disk',
    () => store.writeDelayMs() / 1000,
  )
  metrics.showGauge(
    'mediagen_clock_ahead_seconds',
    'How far the clock of this machine is ahead of that of the database',
    () => (Date.now() - store.nowMs()) / 1000,
  )
  metrics.showGauge('mediagen_waits_open', 'Starts that wait for the end of their job', watches.waiting)
}

/** @throws StartupError that names what is wrong with signing */
function checkFiles(config: Config, log: Logger): void {
  const { roles, databaseUrl, filesUrl } = config
  // Only workers sign, and have the key.
  readCredentials(roles.has('worker') ? config : { ...config, signFailure: 'deliver' }, Date.now())
  if (databaseUrl !== null && filesUrl === null && roles.size === 1)
    log.warn(
      'files are in the data directory of this process: others do not find what it stores, unless MEDIAGEN_FILES_URL names a store for all',
    )
}
