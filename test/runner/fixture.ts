// A runner and a feed over a real store and real assets; only the engine does what a test tells it.
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine, EngineResult, EngineRun } from '@mediagen/engine/engine.ts'
import { usualPictureBounds } from '@mediagen/engine/media.ts'
import { type Logger, pino } from 'pino'
import { createModel } from '../../src/catalog/create-model.ts'
import type { CatalogEntry } from '../../src/catalog/entry.ts'
import { createSchemaCompiler } from '../../src/catalog/schema.ts'
import type { Job } from '../../src/core/jobs/job.ts'
import type { StartCommand, Store } from '../../src/core/store.ts'
import { noTraces } from '../../src/core/traces.ts'
import { startFeed, type StoreFeed } from '../../src/feed/feed.ts'
import type { Blobs } from '../../src/files/blobs/blobs.ts'
import { createDiskBlobs } from '../../src/files/blobs/disk.ts'
import { dataUris } from '../../src/files/media/data-uri.ts'
import type { Signer } from '../../src/files/media/provenance/sign/signer.ts'
import { createRecogniser } from '../../src/files/media/recognise.ts'
import { createMediaSource } from '../../src/files/media/source.ts'
import { createUrlReader } from '../../src/files/media/url.ts'
import { openOutputs } from '../../src/files/outputs.ts'
import { parseAllowedHosts } from '../../src/outgoing/hosts.ts'
import type { RunDeps } from '../../src/runner/attempt.ts'
import { type Runner, startRunner } from '../../src/runner/runner.ts'
import { balanceOf, entriesOf, startOf } from '../storage/fixture.ts'
import { openTestStore } from '../test-store.ts'

const picture = join(import.meta.dirname, '../models/picture.png')

const schemas = createSchemaCompiler([])

/** A signal of a caller that stays. */
export const stays = new AbortController().signal

/** Leaves the test picture under `name`. */
export async function leavePicture(run: EngineRun, name = 'out.png'): Promise<EngineResult> {
  copyFileSync(picture, join(await run.folder(), name))
  return { files: [name], usage: {} }
}

/** Succeeds without an output: for what is not about outputs, which are checked in a process of their own. */
export const leaveNothing = (): EngineResult => ({ files: [], usage: {} })

/** Ends, by rejecting, when the run is aborted. */
export function untilAborted({ signal }: EngineRun): Promise<never> {
  return new Promise((_, reject) => {
    const end = (): void => reject(signal.reason as Error)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}

/** A filter that lets every job through. */
export const anyJob = {
  accountId: null,
  status: null,
  model: null,
  idempotencyKey: null,
  search: null,
  withDeleted: true,
  limit: 10,
  offset: 0,
}

/** What a test may set. */
export interface BenchSettings {
  readonly run: (run: EngineRun) => Promise<EngineResult> | EngineResult
  readonly price?: CatalogEntry['price']
  readonly timeoutSeconds?: number
  readonly concurrency?: number
  /** Jobs that may run at once, of all models that do not only wait. */
  readonly slots?: number
  /** How many of them one account may hold while others wait, and how many there are beyond for those that hold none. */
  readonly slotsPerAccount?: number
  readonly spareSlots?: number
  /** Whether runs only wait for another server. */
  readonly waits?: boolean
  /** In place of one that calls `run`; its kind is `told`. */
  readonly engine?: Engine
  readonly download?: RunDeps['download']
  readonly paidOutputMs?: number
  /** Signs outputs. Default: they stay as they came. */
  readonly signer?: Signer
  readonly holdsUnsigned?: boolean
  /** Default: none. */
  readonly log?: Logger
  /** Stands between the runner and the files. */
  readonly wrapBlobs?: (blobs: Blobs) => Blobs
  /** Stands between the runner and the store. */
  readonly wrapStore?: (store: Store) => Store
}

/** A runner at work. */
export interface Bench extends AsyncDisposable {
  readonly store: Store
  readonly feed: StoreFeed
  readonly runner: Runner
  readonly accountId: string
  /** What runs ended as, in order, as metrics are told. */
  readonly ended: string[]
  /** The number of current runs. */
  current(): number
  /** Queues a job that holds 10 credits. */
  start(credits?: number, fields?: Partial<StartCommand>): Promise<Job>
  /** Changes the price of the catalog. */
  reprice(price: CatalogEntry['price']): void
  /** The job once it is terminal. */
  end(job: Job): Promise<Job>
  /** Available and held credits. */
  balance(): Promise<[number, number]>
  /** Kinds and credits of the ledger, the oldest first. */
  entries(): Promise<string[]>
  /** Files below the assets of a job. */
  assetsOf(job: Job): string[]
  /** Folder for files that the store of outputs refused. */
  readonly refused: string
  /** Folders of runs that are there. */
  runFolders(): string[]
  /** Files that a first run of a job was handed, as far as they are there. */
  mediaOf(job: Job): string[]
}

/** Starts a runner; the account has 1000 credits. */
export async function startBench(settings: BenchSettings): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'mediagen-runner-'))
  const store = await openTestStore()
  const { accountId } = await store.createAccount('test', 1000)
  const blobs = createDiskBlobs(join(folder, 'assets'))
  const refused = join(folder, 'refused')
  const assets = openOutputs({
    blobs: settings.wrapBlobs?.(blobs) ?? blobs,
    intake: join(folder, 'intake'),
    refused,
    maxBytes: 1_000_000,
    signer: settings.signer ?? null,
  })
  const createTold = (price: CatalogEntry['price'] = { credits: 10 }) =>
    createModel(toEntry(settings, price), join(folder, 'models.yaml'), schemas)
  let model = createTold(settings.price)
  let ready = [model]
  const engine: Engine = settings.engine ?? {
    kind: 'told',
    schema: {},
    waits: () => settings.waits ?? false,
    unready: async () => null,
    afterLoss: () => 'again',
    run: async (_spec, run) => settings.run(run),
    close: async () => {},
  }
  const ended: string[] = []
  let current = 0
  const urls = createUrlReader({ allowed: parseAllowedHosts('127.0.0.1'), timeoutMs: 60_000 })
  const feed = startFeed(store)
  const workFolder = join(folder, 'work')
  const runner = startRunner({
    store: settings.wrapStore?.(store) ?? store,
    catalog: {
      ready: () => ready,
      find: (id) => (id === model.id ? model : undefined),
      resolve: () => undefined,
      unready: () => null,
      endOf: () => null,
    },
    engines: new Map([[engine.kind, engine]]),
    assets,
    media: createMediaSource([dataUris, urls], createRecogniser(usualPictureBounds)),
    maxInputBytes: 1_000_000,
    paidOutputMs: settings.paidOutputMs ?? 3_600_000,
    holdsUnsigned: settings.holdsUnsigned ?? false,
    download: settings.download ?? (() => Promise.reject(new Error('nothing is downloaded here'))),
    workFolder,
    slots: {
      slots: settings.slots ?? 8,
      perAccount: settings.slotsPerAccount ?? 8,
      spare: settings.spareSlots ?? 0,
    },
    worker: 'test',
    leaseMs: 15_000,
    reviewMs: 72 * 3_600_000,
    random: () => 0,
    log: settings.log ?? pino({ level: 'silent' }),
    traces: noTraces,
    onRunEnded: (_model, status) => ended.push(status),
    onRunningChanged: (jobs) => (current = jobs),
  })
  const list = (path: string): string[] => {
    try {
      return readdirSync(path)
    } catch {
      return []
    }
  }
  return {
    store,
    feed,
    runner,
    accountId,
    ended,
    current: () => current,
    async start(credits = 10, fields = {}) {
      const usagePrice = model.usagePrice({ prompt: 'a lighthouse' })
      const command = startOf(accountId, { model: model.id, credits, usagePrice, ...fields })
      const started = await store.startGeneration(command)
      if (started.outcome !== 'created') throw new Error(`start was ${started.outcome}`)
      return started.job
    },
    reprice(price) {
      model = createTold(price)
      ready = [model]
    },
    async end(job) {
      const last = await feed.awaitEnd(accountId, job.jobId, 60_000, stays)
      if (!last) throw new Error('no such job')
      return last
    },
    balance: () => balanceOf(store, accountId),
    entries: () => entriesOf(store, accountId),
    assetsOf: (job) => list(join(folder, 'assets', job.jobId)),
    refused,
    runFolders: () => list(workFolder),
    mediaOf: (job) => list(join(workFolder, `${job.jobId}-1`, 'media')),
    async [Symbol.asyncDispose]() {
      await runner.stop(0)
      feed.stop()
      await assets.close()
      await urls[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function toEntry(settings: BenchSettings, price: CatalogEntry['price']): CatalogEntry {
  return {
    id: 'test/told',
    name: 'Told',
    description: 'Does what the test says.',
    category: 'text-to-image',
    modality: 'image',
    source_type: 'trainedAlgorithmicMedia',
    owned_by: 'tests',
    created: '2026-11-01',
    price,
    engine: {
      kind: 'told',
      timeout_seconds: settings.timeoutSeconds ?? 20,
      concurrency: settings.concurrency ?? 8,
    },
    input: {
      type: 'object',
      required: ['prompt'],
      properties: {
        prompt: { type: 'string' },
        images: { type: 'array', items: { type: 'string', format: 'media' } },
      },
    },
  }
}
