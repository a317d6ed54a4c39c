// The composition root: builds every part in reading order, disposes of them in reverse. Nothing else knows all parts.
import { randomBytes } from 'node:crypto'
import type { lookup } from 'node:dns'
import { availableParallelism, hostname } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import type { Transport } from '@connectrpc/connect'
import type { Engine } from '@mediagen/engine/engine.ts'
import type { Logger } from 'pino'
import { AdminService } from '../gen/mediagen/v1/admin_pb.ts'
import { CatalogService } from '../gen/mediagen/v1/catalog_pb.ts'
import { FilesService } from '../gen/mediagen/v1/files_pb.ts'
import { GenerationService, JobSchema } from '../gen/mediagen/v1/generation_pb.ts'
import { QuotesService } from '../gen/mediagen/v1/quotes_pb.ts'
import { WalletService } from '../gen/mediagen/v1/wallet_pb.ts'
import { WebhooksService } from '../gen/mediagen/v1/webhooks_pb.ts'
import { openDiskAssets } from './assets/disk.ts'
import { createFilesFolders } from './assets/folders.ts'
import { createAssetUrls } from './assets/signed-urls.ts'
import { createUploadFiles } from './assets/uploads.ts'
import { findBuiltin } from './builtin.ts'
import type { Config } from './config.ts'
import type { AssetStore, AssetUrls } from './core/asset.ts'
import { type Clock, systemClock } from './core/clock.ts'
import type { MediaSource } from './core/media.ts'
import type { Catalog } from './core/model.ts'
import type { FilesFolders } from './core/retention.ts'
import type { Store } from './core/store.ts'
import { createStrangerLog } from './runtime/stranger-log.ts'
import type { UploadFiles } from './core/upload.ts'
import { layOut, makeFolder } from './data-dir.ts'
import { type Addresses, openDoors } from './doors.ts'
import { toJobRecord } from './gateway/records.ts'
import { createReadiness } from './gateway/health.ts'
import { createLogger } from './log.ts'
import { createOperatorTransport, logActs } from './operator.ts'
import { type AllowedHosts, everyHost, isRefusedAddress, onlyPublic } from './net/hosts.ts'
import { findRefusedPort } from './net/ports.ts'
import { createAccess, createRateLimit } from './rpc/access.ts'
import { createInProcessTransport } from './rpc/in-process.ts'
import { startKeyWatch } from './rpc/key-watch.ts'
import { createMetrics, type Metrics } from './rpc/metrics.ts'
import { type GuardedService, guardService, type PipelineParts } from './rpc/pipeline.ts'
import { createRemoteCore } from './rpc/remote.ts'
import { dataUris } from './media/data-uri.ts'
import { createOwnAssetReader } from './media/own-assets.ts'
import { createRecogniser, type Recogniser } from './media/recognise.ts'
import { createMediaSource } from './media/source.ts'
import { createUploadReader } from './media/uploads.ts'
import { createUrlReader } from './media/url.ts'
import { createEngines, openCatalog, readPictureBounds } from './models.ts'
import { startFeed } from './feed/feed.ts'
import { startExpiry } from './assets/expiry.ts'
import type { PlaceBounds } from './runner/places.ts'
import { startRunner } from './runner/runner.ts'
import { startSweeper } from './runner/sweeper.ts'
import { openWorkFolder } from './runner/work-folder.ts'
import { createWorkerName } from './runner/worker-name.ts'
import { createAdminService } from './services/admin.ts'
import { createCatalogService } from './services/catalog.ts'
import { toJobMessage } from './services/convert.ts'
import { createFilesService } from './services/files.ts'
import { createGenerationService, type GenerationParts } from './services/generation.ts'
import { createQuoteBook } from './services/quote-book.ts'
import { createQuotesService } from './services/quotes.ts'
import { createWalletService } from './services/wallet.ts'
import { createWatches, type WatchBounds } from './services/watches.ts'
import { createWebhooksService } from './services/webhooks.ts'
import { openSqliteStore } from './storage/sqlite/open.ts'
import { createPoster } from './webhooks/poster.ts'
import { startWebhookSender } from './webhooks/sender.ts'

/** A server that runs. */
export interface App extends Addresses, AsyncDisposable {
  /** To every service, in this process; calls carry a key as at the other doors. */
  readonly services: Transport
  /** To AdminService, without a key; null for a pure gateway. */
  readonly operator: Transport | null
}

/** Parts that a test may replace. */
export interface Overrides {
  readonly clock?: Clock
  readonly log?: Logger
  /** Engines beside those that ship. */
  readonly engines?: readonly Engine[]
  /** How the names are resolved that media are fetched from. */
  readonly resolve?: typeof lookup
}

/**
 * Starts a server: a core with its doors, or with `coreUrl` a pure gateway in front of a core elsewhere.
 * @throws StartupError when something an operator can mend is in the way
 */
export function startApp(config: Config, overrides: Overrides = {}): Promise<App> {
  const log = overrides.log ?? createLogger(config.logLevel)
  return config.coreUrl === null ? startCore(config, { ...overrides, log }) : startGateway(config, config.coreUrl, log)
}

/**
 * Opens the store of a data directory, making the directory when there is none.
 * @param maxQueueMs while changes wait longer for the disk, clients get no more of them in
 */
export async function openStore(
  dataDir: string,
  clock: Clock = systemClock,
  maxQueueMs = Infinity,
): Promise<Store & AsyncDisposable> {
  makeFolder(dataDir)
  return openSqliteStore({ path: layOut(dataDir).database, clock, maxQueueMs })
}

async function startCore(config: Config, overrides: Overrides & { log: Logger }): Promise<App> {
  const { log, clock = systemClock } = overrides
  await using parts = new AsyncDisposableStack()
  let stopping = false
  let publicUrl = ''

  const builtin = await findBuiltin()
  if (builtin === null) log.info('the built-in models are not installed')
  const folders = layOut(config.dataDir)
  makeFolder(config.dataDir)
  const processFolder = openWorkFolder(folders.processes)
  const engines = [...createEngines(builtin, config, log, processFolder), ...(overrides.engines ?? [])]
  for (const engine of engines) parts.defer(() => engine.close())
  const catalog = openCatalog(builtin, config, engines, clock)

  const store = parts.use(await openStore(config.dataDir, clock, config.maxQueueMs))
  logActs(store, log)
  const assets = openDiskAssets({
    root: folders.assets,
    maxBytes: config.maxOutputBytes,
    pictureBounds: readPictureBounds(config),
    maxProbeRssBytes: config.childMemoryBytes,
    spareProbes: config.spareProcesses,
    ffmpegPath: config.ffmpegPath,
    processFolder: join(processFolder, 'probe'),
  })
  parts.defer(() => assets.close())
  // Made on first start, so that no request meets a database that cannot take one.
  await store.signingKeys('quote')
  const [assetKey] = (await store.signingKeys('asset')).slice(-1)
  if (!assetKey) throw new Error('the store has no key for assets')
  const urls = createAssetUrls({
    secret: assetKey.secret,
    baseUrl: () => publicUrl,
    ttlMs: config.assetUrlTtlSeconds * 1000,
    clock,
  })

  const assetFolders = createFilesFolders(assets.root)
  const recognise = createRecogniser(readPictureBounds(config))
  const files = createUploadFiles({ root: assets.root, recognise })

  const metrics = createMetrics()
  const feed = await startFeed(store)
  parts.defer(() => feed.stop())
  const watches = createWatches(readWatchBounds(config))
  metrics.showGauge('mediagen_watches_open', 'Open watches of jobs', watches.opened)
  metrics.showGauge(
    'mediagen_write_delay_seconds',
    'How long the oldest change has waited for the disk',
    () => store.writeDelayMs() / 1000,
  )
  metrics.showGauge('mediagen_waits_open', 'Starts that wait for the end of their job', watches.waiting)
  const strangers = createStrangerLog(log, config.maxRefusalLines)
  const access = createAccess(store, clock, config)
  const keys = startKeyWatch(access)
  parts.defer(() => keys.stop())
  const pipeline = { access, keys, metrics, log, strangers, maxViolations: config.maxViolations }
  const services = createServices(
    config,
    { store, catalog, feed, watches, urls, clock, files, folders: assetFolders, isStopping: () => stopping },
    pipeline,
  )
  const inProcess = createInProcessTransport(services)
  const unready = createReadiness(() => describeTrouble(store))
  const servesApi = config.roles.has('api')
  const doors = parts.use(
    await openDoors(config, {
      log,
      strangers,
      metrics,
      unready: async () => (stopping ? 'the server is stopping' : await unready()),
      transport: servesApi ? inProcess : null,
      keys: access,
      rpc: servesApi ? { services, pipeline } : null,
      assets: { root: assets.root, urls },
      onPublicUrl: (url) => (publicUrl = url),
    }),
  )

  // By every process, whatever its role: who removes what does not matter, and doing it twice does no harm.
  const retention = startExpiry({
    store,
    folders: assetFolders,
    retainMs: config.retainHours * 3_600_000,
    log,
  })
  parts.defer(() => retention.stop())

  if (config.roles.has('worker')) {
    // Stopped after the runner: the last jobs are told of, too.
    parts.use(startWebhooks(config, { store, urls, clock, log, metrics }))
    parts.use(startWorker(config, { store, catalog, engines, assets, urls, recognise, clock, log, metrics, overrides }))
  } else {
    // Deadlines, lost workers and reviews are seen to though no worker runs.
    const sweeper = startSweeper({ store, worker: null, ...readSweeping(config), random: Math.random, log })
    parts.defer(() => sweeper.stop())
  }
  // Disposed of first: who waits is answered before anything is taken down.
  parts.defer(() => {
    stopping = true
    doors.drain()
    feed.stop()
  })

  logReady(log, doors.addresses, { roles: [...config.roles], models: catalog.ready().length })
  const owned = parts.move()
  return {
    ...doors.addresses,
    services: inProcess,
    operator: createOperatorTransport(store, config.dataDir, clock),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function readWatchBounds({ maxWatchesPerAccount, maxWatches, maxWaitsPerAccount, maxWaits }: Config): WatchBounds {
  return {
    watches: { perOwner: maxWatchesPerAccount, inAll: maxWatches },
    waits: { perOwner: maxWaitsPerAccount, inAll: maxWaits },
  }
}

interface ServiceParts extends Omit<GenerationParts, 'store' | 'quotes' | 'waitMs' | 'maxQueuedJobs' | 'retainMs'> {
  readonly store: Store
  readonly files: UploadFiles
  readonly folders: FilesFolders
}

/** The services behind the pipeline: what every door leads to. */
function createServices(config: Config, parts: ServiceParts, pipeline: PipelineParts): GuardedService[] {
  const { store, catalog, clock, files, folders, urls } = parts
  const quotes = createQuoteBook(store, clock, config.quoteTtlSeconds * 1000)
  const { maxQueuedJobs, maxUploadBytes } = config
  const isRefusedHost = (host: string): boolean => isRefusedAddress(readWebhookHosts(config), host)
  const retainMs = config.retainHours * 3_600_000
  const uploadLimits = {
    maxUploadBytes,
    maxStoredBytes: config.maxStoredUploadBytes,
    retainMs,
    stallMs: config.stallSeconds * 1000,
  }
  const generation = createGenerationService({
    ...parts,
    quotes,
    waitMs: config.waitSeconds * 1000,
    maxQueuedJobs,
    retainMs,
  })
  return [
    guardService(QuotesService, createQuotesService({ catalog, quotes }), pipeline),
    guardService(GenerationService, generation, pipeline),
    guardService(CatalogService, createCatalogService({ catalog }), pipeline),
    guardService(WalletService, createWalletService({ store }), pipeline),
    guardService(
      WebhooksService,
      createWebhooksService({
        store,
        isRefusedHost,
        findRefusedPort: (url) => findRefusedPort(config.allowPorts, url),
        maxWebhooks: config.webhookEndpoints,
      }),
      pipeline,
    ),
    guardService(FilesService, createFilesService({ store, files, urls, clock, ...uploadLimits }), pipeline),
    guardService(AdminService, createAdminService({ store, clock, folders, osUser: null }), pipeline),
  ]
}

interface WorkerParts extends MediaParts {
  readonly catalog: Catalog
  readonly engines: readonly Engine[]
  readonly log: Logger
  readonly metrics: Metrics
}

/** What runs jobs. */
function startWorker(config: Config, parts: WorkerParts): AsyncDisposable {
  const { engines, assets, metrics } = parts
  const { source: media, close } = createMedia(config, parts)
  const runner = startRunner({
    ...parts,
    engines: new Map(engines.map((engine) => [engine.kind, engine])),
    media,
    maxInputBytes: config.maxInputBytes,
    workFolder: openWorkFolder(layOut(config.dataDir).work),
    places: readPlaces(config),
    worker: createWorkerName(hostname(), process.pid, randomBytes(4).toString('hex')),
    ...readSweeping(config),
    random: Math.random,
    onRunEnded: metrics.countJob,
    onRunningChanged(running) {
      // While the engine works there is time for it.
      if (running > 0) assets.warm()
      metrics.setRunning(running)
    },
  })
  return {
    async [Symbol.asyncDispose]() {
      await runner.stop(config.stopGraceSeconds * 1000)
      await close()
    },
  }
}

function readPlaces({ placesPercent, spareProcesses: spare }: Config): PlaceBounds {
  const places = availableParallelism() * 2
  return { places, perAccount: Math.max(1, Math.floor((places * placesPercent) / 100)), spare }
}

function readSweeping(config: Config): { leaseMs: number; reviewMs: number } {
  return { leaseMs: config.leaseSeconds * 1000, reviewMs: config.reviewHours * 3_600_000 }
}

interface MediaParts {
  readonly store: Store
  readonly assets: AssetStore
  readonly urls: AssetUrls
  readonly recognise: Recogniser
  readonly clock: Clock
  readonly overrides: Overrides
}

/** What turns references into files. The first reader that knows one reads it: what is ours is not fetched from ourselves. */
function createMedia(config: Config, parts: MediaParts): { source: MediaSource; close(): Promise<void> } {
  const { store, assets, urls, recognise, clock, overrides } = parts
  const fetched = createUrlReader({
    allowed: config.mediaAllowHosts,
    allowedPorts: config.allowPorts,
    timeoutMs: config.mediaFetchSeconds * 1000,
    ...(overrides.resolve && { resolve: overrides.resolve }),
  })
  const uploads = createUploadReader({ store, assets, urls, clock })
  const source = createMediaSource([dataUris, uploads, createOwnAssetReader(assets, urls), fetched], recognise)
  return { source, close: async () => fetched[Symbol.asyncDispose]() }
}

/** Why the store takes no changes, in words; null when it does. */
async function describeTrouble(store: Store): Promise<string | null> {
  try {
    await store.check()
    return null
  } catch (error) {
    return `the database cannot be written: ${(error as Error).message}`
  }
}

function readWebhookHosts(config: Config): AllowedHosts {
  return config.webhookAllowPrivate ? everyHost : onlyPublic
}

/** What is told of a job is its record, as the gateway would answer it. */
function startWebhooks(
  config: Config,
  { store, urls, clock, log, metrics }: { store: Store; urls: AssetUrls; clock: Clock; log: Logger; metrics: Metrics },
): AsyncDisposable {
  const poster = createPoster({
    allowed: readWebhookHosts(config),
    allowedPorts: config.allowPorts,
    timeoutMs: config.webhookSeconds * 1000,
    maxAnswerBytes: config.webhookAnswerBytes,
  })
  const sender = startWebhookSender({
    store,
    poster,
    bounds: {
      places: config.webhookPlaces,
      unprovenPlaces: config.webhookUnprovenPlaces,
      placesPerAccount: config.webhookPlacesPerAccount,
      placesPerWebhook: config.webhookPlacesPerEndpoint,
      attemptTimeoutMs: config.webhookSeconds * 1000,
      maxAttempts: config.webhookAttempts,
    },
    renderJob: (job) => toJobRecord(create(JobSchema, toJobMessage(job, urls))),
    clock,
    random: Math.random,
    log,
    onAttempt: metrics.countWebhook,
  })
  return {
    async [Symbol.asyncDispose]() {
      await sender.stop(config.stopGraceSeconds * 1000)
      await poster.close()
    },
  }
}

async function startGateway(config: Config, coreUrl: string, log: Logger): Promise<App> {
  await using parts = new AsyncDisposableStack()
  const core = createRemoteCore(coreUrl)
  parts.defer(() => core.close())
  const doors = parts.use(
    await openDoors(config, {
      log,
      strangers: createStrangerLog(log, config.maxRefusalLines),
      metrics: createMetrics(),
      unready: async () => ((await core.isReachable()) ? null : `the core at ${coreUrl} cannot be reached`),
      transport: core.transport,
      keys: { authenticate: core.authenticate, limit: createRateLimit(config.rateLimit) },
      rpc: null,
      onPublicUrl: () => {},
    }),
  )
  logReady(log, doors.addresses, { core: coreUrl })
  const owned = parts.move()
  return {
    ...doors.addresses,
    services: core.transport,
    operator: null,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function logReady(log: Logger, addresses: Addresses, facts: object): void {
  const { httpUrl: http, grpcUrl: grpc, adminUrl: admin, adminGrpcUrl: adminGrpc } = addresses
  log.info({ http, grpc, ...(admin && { admin }), ...(adminGrpc && { admin_grpc: adminGrpc }), ...facts }, 'ready')
}
