// One run of one job: its folder, its engine, what it made, and how it ended.
import { mkdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type HeldFolder, holdFolder } from '@mediagen/engine/held-folder.ts'
import type { Logger } from 'pino'
import {
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
import { PriceError } from '../core/pricing.ts'
import type { Heartbeat, Store } from '../core/store.ts'
import { type Allowance, createAllowance } from './allowance.ts'
import { fetchMedia } from './media.ts'

// How long to wait before the end of a job that could not be written is written again.
const firstRetryMs = 200
const longestRetryMs = 5000

/** What a run needs. */
export interface RunParts {
  readonly store: Pick<Store, 'finishJob' | 'heartbeat'>
  /** How long a claim lasts after it was renewed. */
  readonly leaseMs: number
  readonly engines: ReadonlyMap<string, Engine>
  readonly assets: AssetStore
  readonly media: MediaSource
  /** Most bytes of the media that one job is handed, all its files together. */
  readonly maxInputBytes: number
  /** Folder for the folders of runs. */
  readonly workFolder: string
  readonly log: Logger
  readonly onRunEnded: (model: string, status: string) => void
  /** Called when a run has its files from strangers, and waits to be admitted. */
  readonly onFetched: () => void
}

/**
 * Where a run is: it waits for servers of strangers, has its files and waits for a place, or has a place. What is fetched from
 * this machine alone is fetched in the place.
 */
export type Phase = 'fetching' | 'fetched' | 'working'

/** Why a run is stopped before its engine ends it. */
export type StopReason = 'canceled' | 'deadline' | 'timeout' | 'lost' | 'stopping'

/** A run under way. */
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
  /** What the next heartbeat is to say. */
  takeNews(): Heartbeat
  /** Whether it is decided how the run ends, so that no cancel can change it. */
  isDecided(): boolean
}

/** Starts a run of a claimed job. */
export function startRun(claimed: ClaimedJob, model: Model, parts: RunParts): Run {
  const { job, token } = claimed
  const abort = new AbortController()
  const abandon = new AbortController()
  let progress = 0
  let checkpoint: JsonValue | undefined
  const isRemote = model.mediaOf(claimed.input).some(({ reference }) => parts.media.isRemote(reference))
  let phase: Phase = isRemote ? 'fetching' : 'working'
  const admitted = Promise.withResolvers<void>()
  const time = createAllowance(model.timeoutMs, () => abort.abort('timeout' satisfies StopReason))

  async function enter(): Promise<void> {
    if (phase === 'working') return
    phase = 'fetched'
    time.hold()
    parts.onFetched()
    await unlessAborted(admitted.promise, abort.signal)
    time.run()
  }

  const watched: Pick<EngineRun, 'signal' | 'onProgress' | 'onCheckpoint'> = {
    signal: abort.signal,
    onProgress(fraction) {
      if (!(fraction > progress)) return
      progress = Math.min(fraction, 1)
    },
    onCheckpoint(value) {
      checkpoint = value
    },
  }
  const attempt: Attempt = {
    claimed,
    model,
    folder: join(parts.workFolder, `${job.jobId}-${job.attempts}`),
    usesFolder: parts.engines.get(model.engine.kind)?.needsFolder?.(model.engine) ?? true,
    outputs: null,
    watched,
    time,
    enter,
    parts,
    abandoned: abandon.signal,
    engineEnd: Promise.resolve(),
    decided: false,
    takeNews: () => ({ jobId: job.jobId, token, progress, ...(checkpoint !== undefined && { checkpoint }) }),
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
    stop(reason) {
      abort.abort(reason)
      if (reason === 'lost' || reason === 'stopping') abandon.abort()
    },
    takeNews: attempt.takeNews,
    isDecided: () => attempt.decided,
  }
}

type Watched = Pick<EngineRun, 'signal' | 'onProgress' | 'onCheckpoint'>

/** One run from the inside. */
interface Attempt {
  readonly claimed: ClaimedJob
  readonly model: Model
  /** Of the whole run: what the engine is given and what it leaves have folders of their own in it. */
  readonly folder: string
  /** Whether there is anything in the folder. */
  usesFolder: boolean
  /** Where the engine leaves what it makes, as long as the run lasts. */
  outputs: HeldFolder | null
  readonly watched: Watched
  /** What is left of the time that the run may take. */
  readonly time: Allowance
  /** Resolves when the run has a place, which it may have from the beginning. */
  readonly enter: () => Promise<void>
  readonly parts: RunParts
  /** Aborts when nobody is to wait for the end any more: the claim is lost, or the server stops. */
  readonly abandoned: AbortSignal
  /** Settles when the engine has let go of the folder, which may be after the job has ended. */
  engineEnd: Promise<unknown>
  /** Whether there is an outcome, written down or not. */
  decided: boolean
  readonly takeNews: () => Heartbeat
}

async function perform(attempt: Attempt, abort: AbortController): Promise<void> {
  const { claimed, folder, time, parts } = attempt
  const { job } = claimed
  time.run()
  const deadlineTimer =
    claimed.msToDeadline !== null &&
    setTimeout(() => abort.abort('deadline' satisfies StopReason), Math.max(0, claimed.msToDeadline))
  try {
    // Earlier runs that nobody ended can no longer end, so what they stored belongs to no record.
    for (let earlier = 1; earlier < job.attempts; earlier++) await parts.assets.remove(toFolderName(job, earlier))
    const outcome = await runToOutcome(attempt)
    attempt.decided = true
    const ended = outcome && (await endJob(attempt, outcome))
    // The success was not written down: its claim was stale or its deadline had passed.
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
    if (attempt.usesFolder) await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Writes the end down. A store that fails for a while, such as a full disk, is asked again: the claim is kept meanwhile,
 * and its token lets the end be written once at the most.
 * @throws whatever the store threw last, when the run is given up first; the claim then runs out
 */
async function endJob(attempt: Attempt, outcome: JobOutcome): Promise<Job | null> {
  const { claimed, abandoned, parts } = attempt
  const { job, token } = claimed
  for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, longestRetryMs)) {
    try {
      // What the engine kept since the last heartbeat, as a program does that is told to stop, is for the next run.
      if (outcome.status === 'queued') await parts.store.heartbeat([attempt.takeNews()], parts.leaseMs)
      return await parts.store.finishJob(job.jobId, token, outcome)
    } catch (error) {
      if (abandoned.aborted) throw error
      parts.log.error({ err: error, job_id: job.jobId, retry_ms: waitMs }, 'the end of a job could not be written')
      // Being given up ends the pause, not the last try.
      await pause(waitMs, undefined, { signal: abandoned }).catch(() => {})
    }
  }
}

/** Null when the claim was lost: another worker has the job. */
async function runToOutcome(attempt: Attempt): Promise<JobOutcome | null> {
  const { claimed, model, watched, parts } = attempt
  try {
    if (attempt.usesFolder) {
      await mkdir(toOutputFolder(attempt), { recursive: true })
      attempt.outputs = await holdFolder(toOutputFolder(attempt))
    }
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
        return { status: 'failed', error: describeFailure(thrown, claimed, parts.log) }
    }
  }
}

async function produce(attempt: Attempt): Promise<JobOutcome> {
  const { model, watched } = attempt
  const { job, input } = attempt.claimed
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
    const creditsActual = model.billing === 'fixed' ? job.creditsHeld : model.actualPrice(checked.input, result.usage)
    return { status: 'succeeded', outputs, creditsActual }
  } catch (error) {
    await assets.remove(toFolderName(job))
    throw error
  }
}

/**
 * Fetches the media that the input refers to, then runs the engine: both count against the time that the run may take. What
 * strangers serve is fetched before the run has a place.
 */
async function runEngine(engine: Engine, input: JsonObject, attempt: Attempt): Promise<EngineResult> {
  const { model, folder, watched, parts } = attempt
  const { job, checkpoint } = attempt.claimed
  const references = model.mediaOf(input)
  if (references.length > 0) attempt.usesFolder = true
  const media = await fetchMedia(parts.media, {
    references,
    accountId: job.accountId,
    folder: join(folder, 'media'),
    maxBytes: parts.maxInputBytes,
    signal: watched.signal,
  })
  watched.signal.throwIfAborted()
  await attempt.enter()
  // Admitted and ended in the same turn: the end counts.
  watched.signal.throwIfAborted()
  return await engine.run(model.engine, {
    jobId: job.jobId,
    model: job.model,
    owner: job.accountId,
    attempt: job.attempts,
    input,
    media,
    checkpoint,
    folder: toOutputFolder(attempt),
    ...watched,
  })
}

/** Paths of what an engine made: in the folder that it was given, whatever stands in the place of that by now. */
async function findOutputs({ files }: EngineResult, { outputs }: Attempt): Promise<string[]> {
  if (files.length === 0) return []
  if (!(await outputs?.isInPlace()))
    throw new EngineError('output_invalid', 'The folder of the outputs was replaced by something else.')
  return files.map((file) => {
    if (!outputs || file !== basename(file)) throw new Error(`an engine named an output outside of its folder: ${file}`)
    return outputs.pathOf(file)
  })
}

/** Where the engine works: empty when it begins, since programs leave their outputs there. */
function toOutputFolder({ folder }: Pick<Attempt, 'folder'>): string {
  return join(folder, 'outputs')
}

/** Stores an output; a disk that fails is no fault of the engine, and ends this run only. */
async function storeOutput({ claimed: { job }, parts, watched }: Attempt, index: number, path: string): Promise<Asset> {
  try {
    return await parts.assets.put(toFolderName(job), index, path, { owner: job.accountId, signal: watched.signal })
  } catch (error) {
    // Whoever ended the run decides what is said of it.
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
 * What the engine made, unless it is decided earlier that nobody wants it: a cancel, a deadline and a timeout end the job
 * at once, however long a deaf program lives on. A run that is given back waits, so that no two are under way at a time.
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

/** Each run stores its outputs in a folder of its own, so that a stale one cannot touch what another made. */
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
