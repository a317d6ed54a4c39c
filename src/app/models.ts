// The models of this server and their engines; a part of the composition root.
import { join } from 'node:path'
import type { KernelLimits } from '@mediagen/engine/containment.ts'
import type { Engine } from '@mediagen/engine/engine.ts'
import type { PictureBounds } from '@mediagen/engine/media.ts'
import { type CheckedCatalog, createCatalog } from '../catalog/catalog.ts'
import { describeEnd, findEnd } from '../catalog/lifetime.ts'
import { CatalogError, loadCatalog } from '../catalog/load.ts'
import type { Model } from '../catalog/model.ts'
import type { Config } from '../config.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { StartupError } from '../core/errors.ts'
import { noTraces } from '../core/traces.ts'
import { guardEngine } from '../engines/guarded.ts'
import { createSecrets, type Secrets } from '../engines/secrets.ts'
import { createNamedFiles } from '../files/blobs/named-files.ts'
import type { Builtin } from './builtin.ts'
import type { ContainmentFinder } from './containment.ts'
import { createLogger } from './observe/log.ts'
import type { RemoteDeps } from './remote.ts'

/** What engines have from the rest of a server. */
export interface EngineDeps extends RemoteDeps {
  /** Where forked processes have their files, and how they are contained; null if nothing will run. */
  readonly processes: { readonly folder: string; readonly containment: ContainmentFinder } | null
}

/**
 * Creates the engines of a server, whose secrets are not said. Those of operators' models are loaded if there are any.
 * @param others more engines
 */
export async function createEngines(
  builtin: Builtin | null,
  config: Config,
  deps: EngineDeps,
  others: readonly Engine[] = [],
): Promise<Engine[]> {
  const operators = config.catalog.length > 0 ? await loadOperatorEngines(config, deps) : []
  return guardEngines([...createShippedEngines(builtin, config, deps), ...operators, ...others], deps.secrets)
}

/** Creates the engine of the built-in models, if they are installed. */
function createShippedEngines(builtin: Builtin | null, config: Config, { log, processes }: EngineDeps): Engine[] {
  const engine = builtin?.createEngine({
    poolSize: config.childProcesses,
    sparePoolSize: config.spareProcesses,
    maxChildRssBytes: config.childMemoryBytes,
    maxChildMs: config.childSeconds * 1000,
    maxOutputBytes: config.maxOutputBytes,
    pictureBounds: readPictureBounds(config),
    ffmpegPath: config.ffmpegPath,
    ...(processes && { processFolder: join(processes.folder, 'render'), containment: processes.containment }),
    childLimits: readChildLimits(config),
    logger: log,
  })
  return engine ? [engine] : []
}

async function loadOperatorEngines(config: Config, deps: EngineDeps): Promise<Engine[]> {
  const { createOperatorEngines } = await import('./operator/operator-engines.ts')
  return createOperatorEngines(config, deps)
}

/** The secrets of this process. */
export function openSecrets(): Secrets {
  return createSecrets(process.env)
}

/** The same engines, whose secrets are not said. */
function guardEngines(engines: readonly Engine[], secrets: Secrets): Engine[] {
  return engines.map((engine) => guardEngine(engine, secrets))
}

/** All engines, for questions about models of any catalog, without a log; nothing runs on them. */
export async function openIdleEngines(
  builtin: Builtin | null,
  config: Config,
): Promise<AsyncDisposable & { readonly engines: Engine[] }> {
  const secrets = openSecrets()
  const log = createLogger('silent')
  const deps: EngineDeps = { log, traces: noTraces, processes: null, secrets, openStore: noStore }
  const engines = guardEngines(
    [...createShippedEngines(builtin, config, deps), ...(await loadOperatorEngines(config, deps))],
    secrets,
  )
  return {
    engines,
    async [Symbol.asyncDispose]() {
      await Promise.all(engines.map((engine) => engine.close()))
    },
  }
}

function noStore(): never {
  throw new Error('nothing runs here')
}

/** The settings' kernel limits of a forked process. */
export function readChildLimits({ childOpenFiles, childTasks }: Config): Pick<KernelLimits, 'openFiles' | 'tasks'> {
  return { openFiles: childOpenFiles, tasks: childTasks }
}

/** The settings' limits of a picture. */
export function readPictureBounds({ maxPixels, maxSidePixels }: Config): PictureBounds {
  return { pixels: maxPixels, side: maxSidePixels }
}

/** Loads the built-in models, if installed, and those that the settings name; it knows which of them are ready. */
export async function openCatalog(
  builtin: Builtin | null,
  config: Config,
  engines: readonly Engine[],
  clock: Clock = systemClock,
): Promise<CheckedCatalog> {
  const shipped = builtin?.catalog ?? []
  const catalog = createCatalog(
    // Tests compile the built-in schemas; a start need not.
    readModels([...shipped, ...config.catalog], engines, shipped),
    new Map(engines.map((engine) => [engine.kind, engine])),
    clock,
  )
  await catalog.checkEngines()
  return catalog
}

/**
 * Reads catalog files.
 * @throws StartupError that lists what is wrong with them
 */
export function readModels(...files: Parameters<typeof loadCatalog>): ReturnType<typeof loadCatalog> {
  try {
    return loadCatalog(...files)
  } catch (error) {
    throw error instanceof CatalogError ? new StartupError(error.message) : error
  }
}

/** The files that are served for the samples of models; found when the first is asked for. */
export function createSampleFiles(models: readonly Model[]): ReturnType<typeof createNamedFiles> {
  let paths: ReadonlyMap<string, string> | undefined
  return createNamedFiles((name) =>
    (paths ??= new Map(models.flatMap(({ sampleFiles }) => [...sampleFiles]))).get(name),
  )
}

/** The models of a catalog that have ended, or end within the notice, in words. */
export function listEnding(models: readonly Model[], nowMs: number) {
  return models.flatMap((model) => {
    const end = findEnd(model, nowMs)
    if (!end) return []
    const { id, shutdownDate, replacedBy } = model
    return [{ id, words: describeEnd(end), shutdown_date: shutdownDate, replaced_by: replacedBy }]
  })
}
