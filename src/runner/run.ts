// One run of one job: its folder, its engine, its outputs and its end.
import { mkdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type HeldFolder, holdFolder } from '@mediagen/engine/held-folder.ts'
import type { Logger } from 'pino'
import {
  ClaimLost,
  type Engine,
  EngineError,
  type EngineResult,
  type EngineRun,
  type JsonObject,
  type JsonValue,
} from '@mediagen/engine/engine.ts'
import type { Asset, AssetStore } from '../core/asset.ts'
import type { ClaimedJob, Job, JobError, JobOutcome } from '../core/job.ts'
import { canceledError, deadlineError } from '../core/loss.ts'
import type { MediaSource } from '../core/media.ts'
import type { Model } from '../core/model.ts'
import { lacksDescriptors } from '../core/storage-trouble.ts'
import { PriceError, priceUsage } from '../core/pricing.ts'
import type { Heartbeat, Store } from '../core/store.ts'
import { whenDescriptors } from '../runtime/descriptors.ts'
import { type Allowance, createAllowance } from './allowance.ts'
import { fetchMedia } from './media.ts'

// Wait before retrying to record the end of a job.
const firstRetryMs = 200
const longestRetryMs = 5000

/** What a run needs. */
export interface RunParts {
  readonly store: Pick<Store, 'finishJob' | 'saveCheckpoint'>
  /** Duration of a claim after a renewal. */
  readonly leaseMs: number
  readonly engines: ReadonlyMap<string, Engine>
  readonly assets: AssetStore
  readonly media: MediaSource
  /** Maximum bytes of the media of a job, all files together. */
  readonly maxInputBytes: number
  /** Folder for the folders of runs. */
  readonly workFolder: string
  readonly log: Logger
  readonly onRunEnded: (model: string, status: string) => void
  /** Called when a run has fetched its files and waits to be admitted. */
  readonly onFetched: () => void
}

/**
 * The phase of a run: it fetches from other servers, has its files and waits for a place, or has a place. Files from this
 * machine alone are fetched in the place.
 */
export type Phase = 'fetching' | 'fetched' | 'working'

/** Why a run is stopped before its engine ends it. */
export type StopReason = 'canceled' | 'deadline' | 'timeout' | 'lost' | 'stopping'

/** A current run. */
export interface Run {
  readonly jobId: string
  readonly accountId: string
  readonly model: Model
  readonly phase: Phase
  /** Gives a fetched run its place. */
  admit(): void
  /** Resolves when the job was ended or given back; never rejects. */
  readonly done: Promise<void>
  stop(reason: StopReason): void
  /** The content of the next heartbeat. */
  takeNews(): Heartbeat
  /** Whether the outcome is decided, so a cancel cannot change it. */
  isDecided(): boolean
}

/** Starts a run of a claimed job. */
export function startRun(claimed: ClaimedJob, model: Model, parts: RunParts): Run {
  const { job, token } = claimed
  const abort = new AbortController()
  const abandon = new AbortController()
  let progress = 0
  const isRemote = model.mediaOf(claimed.input).some(({ reference }) => parts.media.isRemote(reference))
  let phase: Phase = isRemote ? 'fetching' : 'working'
  const admitted = Promise.withResolvers<void>()
  const time = createAllowance(model.timeoutMs, () => abort.abort('timeout' satisfies StopReason))

  function stop(reason: StopReason): void {
    abort.abort(reason)
    if (reason === 'lost' || reason === 'stopping') abandon.abort()
  }

  async function enter(): Promise<void> {
    if (phase === 'working') return
    phase = 'fetched'
    time.hold()
    parts.onFetched()
    await unlessAborted(admitted.promise, abort.signal)
    time.run()
  }

  const watched: Watched = {
    signal: abort.signal,
    onProgress(fraction) {
      if (!(fraction > progress)) return
      progress = Math.min(fraction, 1)
    },
  }
  const attempt: Attempt = {
    claimed,
    model,
    folder: join(parts.workFolder, `${job.jobId}-${job.attempts}`),
    outputs: null,
    watched,
    time,
    enter,
    parts,
    abandoned: abandon.signal,
    engineEnd: Promise.resolve(),
    decided: false,
    lose: () => stop('lost'),
  }
  const done = perform(attempt, abort).catch((error: unknown) => {
    parts.log.error({ err: error, job_id: job.jobId }, 'a job could not be ended')
  })
  return {
    jobId: job.jobId,
    accountId: job.accountId,
    model,
    get phase() {
      return phase
    },
    admit() {
      phase = 'working'
      admitted.resolve()
    },
    done,
    stop,
    takeNews: () => ({ jobId: job.jobId, token, progress }),
    isDecided: () => attempt.decided,
  }
}

type Watched = Pick<EngineRun, 'signal' | 'onProgress'>

/** The internal state of a run. */
interface Attempt {
  readonly claimed: ClaimedJob
  readonly model: Model
  /** Folder of the run, with one folder for the media and one for the engine. */
  readonly folder: string
  /** Folder of the engine's outputs, during the run. */
  outputs: HeldFolder | null
  readonly watched: Watched
  /** The rest of the run's time limit. */
  readonly time: Allowance
  /** Resolves when the run has a place, which may be from the beginning. */
  readonly enter: () => Promise<void>
  readonly parts: RunParts
  /** Aborts when the end no longer matters: the claim was lost, or the server stops. */
  readonly abandoned: AbortSignal
  /** Settles when the engine has released the folder, possibly after the job has ended. */
  engineEnd: Promise<unknown>
  /** Whether there is an outcome, recorded or not. */
  decided: boolean
  /** Ends the run because its claim is lost. */
  readonly lose: () => void
}

async function perform(attempt: Attempt, abort: AbortController): Promise<void> {
  const { claimed, folder, time, parts } = attempt
  const { job } = claimed
  time.run()
  const deadlineTimer =
    claimed.msToDeadline !== null &&
    setTimeout(() => abort.abort('deadline' satisfies StopReason), Math.max(0, claimed.msToDeadline))
  try {
    const outcome = await runToOutcome(attempt)
    attempt.decided = true
    const ended = outcome && (await endJob(attempt, outcome))
    // The success was not recorded: its claim was stale or its deadline had passed.
    if (outcome?.status === 'succeeded' && ended?.status !== 'succeeded') await parts.assets.remove(toFolderName(job))
    const status = ended?.status ?? 'lost'
    parts.onRunEnded(job.model, status)
    parts.log.info(
      {
        job_id: job.jobId,
        model: job.model,
        status,
        attempt: job.attempts,
        ...(ended?.error && { error: ended.error }),
      },
      'run ended',
    )
  } finally {
    time.hold()
    if (deadlineTimer) clearTimeout(deadlineTimer)
    await attempt.engineEnd
    await attempt.outputs?.[Symbol.asyncDispose]()
    // Not even a lost claim ends this: nobody else removes the folder as long as this process lives.
    await whenDescriptors(() => rm(folder, { recursive: true, force: true }))
  }
}

/** Records the end; the token of the claim ensures that it is recorded at most once. */
async function endJob(attempt: Attempt, outcome: JobOutcome): Promise<Job | null> {
  const { job, token } = attempt.claimed
  return write(attempt, 'the end of a job', () => attempt.parts.store.finishJob(job.jobId, token, outcome))
}

/** Saves a checkpoint, however long that takes. A run whose claim is lost ends. */
async function saveCheckpoint(attempt: Attempt, checkpoint: JsonValue): Promise<void> {
  const { job, token } = attempt.claimed
  const { store } = attempt.parts
  const saved = await write(attempt, 'a checkpoint', () => store.saveCheckpoint(job.jobId, token, checkpoint))
  if (saved) return
  attempt.lose()
  throw new ClaimLost()
}

/**
 * Writes to the store. While that fails, for example on a full disk, it is retried: the claim is kept meanwhile.
 * @throws the last error of the store if the run is given up first; the claim then runs out
 */
async function write<Result>(attempt: Attempt, what: string, step: () => Promise<Result>): Promise<Result> {
  const { claimed, abandoned, parts } = attempt
  const { jobId } = claimed.job
  for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, longestRetryMs)) {
    try {
      return await step()
    } catch (error) {
      if (abandoned.aborted) throw error
      parts.log.error({ err: error, job_id: jobId, retry_ms: waitMs }, `${what} could not be written`)
      // Giving up ends the pause, not a running attempt.
      await pause(waitMs, undefined, { signal: abandoned }).catch(() => {})
    }
  }
}

/** Null when the claim was lost: another worker has the job. */
async function runToOutcome(attempt: Attempt): Promise<JobOutcome | null> {
  const { claimed, model, watched, parts } = attempt
  try {
    const { job } = claimed
    // Earlier runs can no longer end, so their stored outputs belong to no record.
    for (let earlier = 1; earlier < job.attempts; earlier++) await parts.assets.remove(toFolderName(job, earlier))
    await mkdir(toOutputFolder(attempt), { recursive: true })
    attempt.outputs = await patiently(attempt, () => holdFolder(toOutputFolder(attempt)))
    return await produce(attempt)
  } catch (thrown) {
    const reason = watched.signal.aborted ? (watched.signal.reason as StopReason) : 'failed'
    switch (reason) {
      case 'lost':
        return null
      case 'stopping':
        return { status: 'queued' }
      case 'canceled':
        return { status: 'canceled', error: canceledError }
      case 'deadline':
        return { status: 'canceled', error: deadlineError }
      case 'timeout':
        return {
          status: 'failed',
          error: {
            code: 'timeout',
            message: `The run took longer than ${model.timeoutMs / 1000} s, the limit of its model.`,
            retryable: true,
          },
        }
      case 'failed':
        return lacksDescriptors(thrown)
          ? giveBack(thrown, attempt)
          : { status: 'failed', error: describeFailure(thrown, claimed, parts.log) }
    }
  }
}

/** The outcome of a run that found no file descriptor: the fault of whoever has them, and not of this job. */
function giveBack(thrown: unknown, { claimed: { job }, parts }: Attempt): JobOutcome {
  parts.log.warn({ err: thrown, job_id: job.jobId }, 'a run was given back for lack of file descriptors')
  return { status: 'queued', hindered: true }
}

/**
 * Takes a step that may find no file descriptor. A run that may be repeated is given back then; one that may not would go to
 * review, and waits in its place instead if the step did nothing.
 */
function patiently<Result>(
  { model, watched }: Attempt,
  step: () => Promise<Result>,
  didNothing?: (thrown: unknown) => boolean,
): Promise<Result> {
  return model.resumable ? step() : whenDescriptors(step, watched.signal, didNothing)
}

/** Whether the program of an engine could not even be started. */
function wasNotSpawned(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause)
    if ('syscall' in error && String(error.syscall).startsWith('spawn')) return true
  return false
}

async function produce(attempt: Attempt): Promise<JobOutcome> {
  const { model, watched } = attempt
  const { job, input, usagePrice } = attempt.claimed
  const { engines, assets } = attempt.parts
  const engine = engines.get(model.engine.kind)
  if (!engine)
    throw new EngineError('model_unavailable', `The engine "${model.engine.kind}" is not on this server.`, true)
  const checked = model.checkInput(input)
  // The catalog may have changed since the job was started.
  if (!checked.ok) throw new EngineError('invalid_input', 'The input no longer fits the schema of the model.')
  const running = runEngine(engine, checked.input, attempt)
  attempt.engineEnd = running.catch(() => {})
  const result = await untilDecided(running, watched.signal)
  const outputs: Asset[] = []
  try {
    for (const [index, path] of (await findOutputs(result, attempt)).entries())
      outputs.push(await storeOutput(attempt, index, path))
    watched.signal.throwIfAborted()
    const creditsActual = usagePrice === null ? job.creditsHeld : priceUsage(usagePrice, result.usage)
    return { status: 'succeeded', outputs, creditsActual }
  } catch (error) {
    await assets.remove(toFolderName(job))
    throw error
  }
}

/**
 * Fetches the media of the input, then runs the engine; both count against the time limit. Media from other servers is
 * fetched before the run has a place.
 */
async function runEngine(engine: Engine, input: JsonObject, attempt: Attempt): Promise<EngineResult> {
  const { model, folder, watched, parts } = attempt
  const { job, checkpoint } = attempt.claimed
  const references = model.mediaOf(input)
  let fetches = 0
  const media = await patiently(attempt, () =>
    fetchMedia(parts.media, {
      references,
      accountId: job.accountId,
      // Another fetch finds nothing of the one before.
      folder: join(folder, `media${fetches++ || ''}`),
      maxBytes: parts.maxInputBytes,
      signal: watched.signal,
    }),
  )
  watched.signal.throwIfAborted()
  await attempt.enter()
  // If it is admitted and ended in the same turn, the end counts.
  watched.signal.throwIfAborted()
  const run: EngineRun = {
    jobId: job.jobId,
    model: job.model,
    owner: job.accountId,
    attempt: job.attempts,
    input,
    checkpoint,
    folder: toOutputFolder(attempt),
    ...watched,
    media: async () => media,
    saveCheckpoint: (value) => saveCheckpoint(attempt, value),
    preview: () => {},
    download: () => Promise.reject(new Error('there is no downloader yet')),
  }
  return await patiently(attempt, () => engine.run(model.engine, run), wasNotSpawned)
}

/** Paths of the outputs, in the folder that the engine was given, even if its path was replaced meanwhile. */
async function findOutputs({ files }: EngineResult, { outputs }: Attempt): Promise<string[]> {
  if (files.length === 0) return []
  if (!(await outputs?.isInPlace()))
    throw new EngineError('output_invalid', 'The folder of the outputs was replaced by something else.')
  return files.map((file) => {
    if (!outputs || file !== basename(file)) throw new Error(`an engine named an output outside of its folder: ${file}`)
    return outputs.pathOf(file)
  })
}

/** The engine's folder; it is empty at the start, because programs leave their outputs there. */
function toOutputFolder({ folder }: Pick<Attempt, 'folder'>): string {
  return join(folder, 'outputs')
}

/** Stores an output. A failing disk is not the engine's fault, and fails only this run. */
async function storeOutput({ claimed: { job }, parts, watched }: Attempt, index: number, path: string): Promise<Asset> {
  try {
    return await parts.assets.put(toFolderName(job), index, path, { owner: job.accountId, signal: watched.signal })
  } catch (error) {
    // The cause that ended the run decides its error.
    watched.signal.throwIfAborted()
    if (error instanceof EngineError) throw error
    parts.log.error({ err: error, job_id: job.jobId }, 'an output could not be stored')
    throw new EngineError(
      'output_not_stored',
      'The outputs could not be stored on this server. Nothing was charged.',
      true,
    )
  }
}

/**
 * The engine's result, unless the run ends earlier: a cancel, a deadline and a timeout end the job at once, however long an
 * unresponsive program lives on. A run that is given back waits for its engine, so no two runs overlap.
 */
async function untilDecided<Result>(running: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: decided, reject } = Promise.withResolvers<never>()
  const decide = (): void => {
    const reason = signal.reason as StopReason
    if (reason !== 'stopping' && reason !== 'lost') reject(new Error(reason))
  }
  signal.addEventListener('abort', decide)
  try {
    const result = await Promise.race([running, decided])
    signal.throwIfAborted()
    return result
  } finally {
    signal.removeEventListener('abort', decide)
  }
}

/** What `awaited` resolves to, unless `signal` aborts first. */
async function unlessAborted<Result>(awaited: Promise<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const end = (): void => reject(new Error(String(signal.reason)))
  signal.addEventListener('abort', end)
  try {
    return await Promise.race([awaited, aborted])
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** Each run stores its outputs in its own folder, so a stale run cannot touch those of another. */
function toFolderName({ jobId, attempts }: Pick<Job, 'jobId' | 'attempts'>, attempt: number = attempts): string {
  return attempt === 1 ? jobId : `${jobId}-${attempt}`
}

function describeFailure(thrown: unknown, { job }: ClaimedJob, log: Logger): JobError {
  if (thrown instanceof EngineError) return { code: thrown.code, message: thrown.message, retryable: thrown.retryable }
  const what = thrown instanceof PriceError ? 'the usage that an engine reported gives no price' : 'an engine crashed'
  log.error({ err: thrown, job_id: job.jobId, model: job.model }, what)
  if (thrown instanceof PriceError)
    return {
      code: 'usage_unknown',
      message: 'No price can be computed from the usage that the engine reported, so nothing was charged.',
      retryable: true,
    }
  return { code: 'engine_crashed', message: 'The engine stopped unexpectedly.', retryable: true }
}
