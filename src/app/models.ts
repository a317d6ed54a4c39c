// The models of this server and their engines; a part of the composition root.
import { join } from 'node:path'
import type { KernelLimits } from '@mediagen/engine/containment.ts'
import type { Engine } from '@mediagen/engine/engine.ts'
import type { PictureBounds } from '@mediagen/engine/media.ts'
import type { Logger } from 'pino'
import type { Builtin } from './builtin.ts'
import { type AskingCatalog, createCatalog } from '../catalog/catalog.ts'
import { createNamedFiles } from '@mediagen/blobs/named-files.ts'
import { CatalogError, loadCatalog } from '@mediagen/catalog/load.ts'
import type { Model } from '@mediagen/catalog/model.ts'
import type { Config } from '../config.ts'
import type { ContainmentFinder } from './containment.ts'
import { type Clock, systemClock } from '@mediagen/core/clock.ts'
import { StartupError } from '@mediagen/core/errors.ts'
import { createSecrets, type Secrets } from '@mediagen/backends/secrets.ts'
import { guardEngine } from '@mediagen/backends/guarded.ts'
import { createCommandEngine } from '@mediagen/backends/command.ts'
import { createNullEngine } from '@mediagen/backends/null.ts'
import { createLogger } from './log.ts'
import { createRemote, type SharedStore } from './remote.ts'

/**
 * Creates the engines, with that of the built-in models if they are installed.
 * @param processes where forked processes have their files, and how they are contained; null if nothing will run
 * @param secrets the keys of remote servers
 * @param openStore the store, once it is open; needed if anything will run
 */
export function createEngines(
  builtin: Builtin | null,
  config: Config,
  log: Logger,
  processes: { readonly folder: string; readonly containment: ContainmentFinder } | null,
  secrets: Secrets,
  openStore: () => SharedStore = noStore,
): Engine[] {
  const shipped = builtin?.createEngine({
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
  return [
    ...(shipped ? [shipped] : []),
    createCommandEngine({
      environment: process.env,
      maxOutputBytes: config.maxOutputBytes,
      limits: config.programLimits,
      log: (entry) =>
        log.debug(
          { job_id: entry.jobId, model: entry.model, stream: entry.stream, line: entry.line },
          'a program said',
        ),
      onFailure: ({ jobId, model, end, stderr }) => log.warn({ job_id: jobId, model, end, stderr }, 'a program failed'),
    }),
    createNullEngine(),
    ...createRemote(config, secrets, openStore, log),
  ]
}

/** The secrets of this process. */
export function openSecrets(): Secrets {
  return createSecrets(process.env)
}

/** The same engines, whose secrets are not said. */
export function guardEngines(engines: readonly Engine[], secrets: Secrets): Engine[] {
  return engines.map((engine) => guardEngine(engine, secrets))
}

/** Engines for questions about models, without a log; nothing runs on them. */
export function openIdleEngines(
  builtin: Builtin | null,
  config: Config,
): AsyncDisposable & { readonly engines: Engine[] } {
  const secrets = openSecrets()
  const engines = guardEngines(createEngines(builtin, config, createLogger('silent'), null, secrets), secrets)
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
): Promise<AskingCatalog> {
  const shipped = builtin?.catalog ?? []
  const catalog = createCatalog(
    // Tests compile the built-in schemas; a start need not.
    readModels([...shipped, ...config.catalog], engines, shipped),
    new Map(engines.map((engine) => [engine.kind, engine])),
    clock,
  )
  await catalog.ask()
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
