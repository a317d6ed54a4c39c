// The engine kind `builtin`: media made by this package alone, in forked processes, with no GPU and no account.

import { availableParallelism } from 'node:os'
import { extname, join } from 'node:path'
import type { Containment, KernelLimits } from '@mediagen/engine/containment.ts'
import {
  type Engine,
  EngineError,
  type EngineResult,
  type EngineRun,
  type EngineSpec,
} from '@mediagen/engine/engine.ts'
import { checkFolderSize } from '@mediagen/engine/folder-size.ts'
import { type PictureBounds, usualPictureBounds } from '@mediagen/engine/media.ts'
import { type Logger, ProcessPool } from '@mediagen/engine/pool.ts'
import { handOver, moveFile } from '@mediagen/engine/process-folders.ts'
import manifest from '../package.json' with { type: 'json' }
import { whyNotFfmpeg } from './film/ffmpeg.ts'
import type { RenderRequest } from './messages.ts'
import { isRendererName, rendererNames } from './renderers.ts'

const defaultMaxChildRssBytes = 1_500_000_000
const defaultMaxChildMs = 600_000
const defaultMaxOutputBytes = 2 * 1024 ** 3
// Cached files and drafts are not outputs.
const leastFileBytes = 16 * 1024 ** 2
// Requests that waited for the start of the server come first.
const warmUpAfterMs = 1_500

export interface BuiltinEngineOptions {
  /** Renders at the same time, each in its own process; 0 for one a core. Default: 0. */
  readonly poolSize?: number
  /** Further processes for owners that have none while all are taken. Default: 0. */
  readonly sparePoolSize?: number
  /** A process whose resident memory grows past this is killed, and its run fails with `out_of_memory`. Default: 1.5 GB. */
  readonly maxChildRssBytes?: number
  /** A process that works on one job for longer is killed, and its run fails with `timeout`. Default: 10 minutes. */
  readonly maxChildMs?: number
  /** A process that writes more is killed, and its run fails with `output_too_large`. Default: 2 GiB. */
  readonly maxOutputBytes?: number
  /** Path of an ffmpeg that encodes films faster than what ships; null for none. Default: null. */
  readonly ffmpegPath?: string | null
  /** How large a picture that is handed in may be. Default: 50 megapixels, no side longer than 32,768. */
  readonly pictureBounds?: PictureBounds
  /** The module that renders; another one in tests. */
  readonly entry?: URL
  /** Where render processes have their files; on the disk of the folders of runs. Default: a temporary folder. */
  readonly processFolder?: string
  /** How the system contains render processes. Default: not at all. */
  readonly containment?: () => Promise<Containment>
  readonly childLimits?: Pick<KernelLimits, 'openFiles' | 'tasks'>
  readonly logger?: Logger
}

/** Runs models whose catalog entry says `engine: { kind: builtin, renderer: poster | art | … }`. */
export function createBuiltinEngine(options: BuiltinEngineOptions = {}): Engine {
  const { maxChildMs = defaultMaxChildMs, maxOutputBytes = defaultMaxOutputBytes } = options
  const pool = new ProcessPool<RenderRequest, EngineResult>({
    rights: {
      entry: options.entry ?? new URL('./render-process.ts', import.meta.url),
      code: [],
      // Encoders of sound work in threads.
      startsThreads: true,
      startsPrograms: (options.ffmpegPath ?? null) !== null,
    },
    folder: options.processFolder,
    containment: options.containment,
    limits: { ...options.childLimits, fileBytes: Math.max(maxOutputBytes, leastFileBytes) },
    size: options.poolSize || availableParallelism(),
    spare: options.sparePoolSize ?? 0,
    maxRssBytes: options.maxChildRssBytes ?? defaultMaxChildRssBytes,
    failures: renderFailures,
    logger: options.logger ?? null,
  })
  const { pictureBounds: bounds = usualPictureBounds } = options
  const ffmpeg = findFfmpeg(options.ffmpegPath ?? null, options.logger ?? null)
  let warmUp: NodeJS.Timeout | undefined

  return {
    kind: 'builtin',
    reproducibleAs: manifest.version,
    schema: { required: ['renderer'], properties: { renderer: { type: 'string', minLength: 1 } } },
    waits: () => false,
    afterLoss: () => 'again',
    async unready(spec: EngineSpec): Promise<string | null> {
      if (isRendererName(spec['renderer'])) return null
      return `The built-in engine has no renderer ${JSON.stringify(spec['renderer'])}; it has ${rendererNames.join(', ')}.`
    },
    async run(spec: EngineSpec, run: EngineRun): Promise<EngineResult> {
      const { input } = run
      const renderer = String(spec['renderer'])
      return await pool.run({
        async request(folders) {
          const handed = await handOverMedia(await run.media(), folders.input)
          return { renderer, input, media: handed, bounds, folder: folders.output, ffmpeg: await ffmpeg }
        },
        owner: run.owner,
        signal: run.signal,
        onProgress: run.onProgress,
        onDraft(file, { output }) {
          if (!/^\.draft-\d{1,4}\.webp$/.test(file)) return
          // The process may end meanwhile; then there is no draft.
          run
            .folder()
            .then((folder) => moveFile(join(output, file), join(folder, file)))
            .then(
              () => run.preview(file),
              () => {},
            )
        },
        timeout: { ms: maxChildMs, reason: () => tookTooLong(maxChildMs) },
        check: ({ output }) => checkFolderSize(output, maxOutputBytes),
        async collect(result, { output }) {
          // Counted once, when the last output is written.
          await checkFolderSize(output, maxOutputBytes)
          const folder = await run.folder()
          for (const file of result.files) {
            if (!/^output\.[a-z0-9]+$/.test(file)) throw new Error(`a render process named its output ${file}`)
            await moveFile(join(output, file), join(folder, file))
          }
          return result
        },
      })
    },
    warm() {
      warmUp ??= setTimeout(() => pool.warm(), warmUpAfterMs).unref()
    },
    async close(): Promise<void> {
      clearTimeout(warmUp)
      await pool.close()
    },
  }
}

/** Puts media where a process can read them; equal files once. */
async function handOverMedia(media: ReadonlyMap<string, string>, folder: string): Promise<Record<string, string>> {
  const handed = new Map<string, string>()
  for (const path of new Set(media.values())) {
    const name = `${handed.size}${extname(path)}`
    handed.set(path, await handOver(path, folder, name))
  }
  return Object.fromEntries([...media].map(([pointer, path]) => [pointer, handed.get(path) as string]))
}

/** The path of a program that can do it; null, and a warning, for one that cannot. */
async function findFfmpeg(path: string | null, logger: Logger | null): Promise<string | null> {
  const why = path === null ? null : await whyNotFfmpeg(path)
  if (why === null) return path
  logger?.warn({ ffmpeg: path }, `FFMPEG_PATH is not used: ${why}; films use the built-in encoders`)
  return null
}

function tookTooLong(ms: number): EngineError {
  return new EngineError('timeout', `The render took longer than ${ms / 1000} s and was stopped.`, true)
}

const renderFailures = {
  outOfMemory(limitBytes: number): EngineError {
    const limit = Math.round(limitBytes / 1e6)
    return new EngineError(
      'out_of_memory',
      `The render needed more than ${limit} MB of memory and was stopped. Try a smaller size.`,
    )
  },
  crashed(how: string, options: ErrorOptions): EngineError {
    const words = `The render process ended unexpectedly (${how}).`
    return new EngineError('renderer_crashed', words, true, options)
  },
}
