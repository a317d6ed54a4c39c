// The work of a run: its input is checked, its media fetched, its engine run and its outputs stored.
import { join } from 'node:path'
import { whenDescriptors } from '@mediagen/engine/descriptors.ts'
import {
  type Engine,
  EngineError,
  type EngineResult,
  type EngineRun,
  type JsonObject,
} from '@mediagen/engine/engine.ts'
import { priceUsage } from '../catalog/prices/pricing.ts'
import { countCredits, shareOf } from '../core/credits/ledger.ts'
import { type Asset, measureOutputs } from '../core/files/asset.ts'
import type { JobOutcome } from '../core/jobs/job.ts'
import { inSpan } from '../core/traces.ts'
import { type Attempt, continues, toOutputFolder } from './attempt.ts'
import { saveCheckpoint } from './durable.ts'
import { createDownloads } from './media/downloads.ts'
import { createDrafts } from './media/drafts.ts'
import { fetchMedia } from './media/media.ts'
import { openOutputFolder, removeOutputs, storeOutputs } from './media/outputs.ts'
import { review } from './review.ts'
import { untilDecided } from './waiting.ts'

/**
 * Does the work.
 * @throws whatever ended it
 */
export async function produce(attempt: Attempt): Promise<JobOutcome> {
  const { model, watched } = attempt
  const { engines, traces } = attempt.deps
  const engine = engines.get(model.engine.kind)
  if (!engine)
    throw new EngineError('model_unavailable', `The engine "${model.engine.kind}" is not on this server.`, true)
  const running = runEngine(engine, await checkInput(attempt), attempt)
  attempt.engineEnd = running.catch(() => {})
  const result = await untilDecided(running, watched.signal)
  try {
    const storing = { facts: { 'mediagen.outputs': result.files.length } }
    const { outputs, refusals, unsigned } = await inSpan(traces, 'store outputs', storing, () =>
      storeOutputs(result, attempt),
    )
    watched.signal.throwIfAborted()
    const held = attempt.deps.holdsUnsigned ? unsigned : []
    if (refusals.length > 0) return refuse(attempt, outputs, [...refusals.map(({ message }) => message), ...held])
    const outcome = price(attempt, outputs, result)
    return held.length > 0 ? hold(attempt, outputs, held, outcome) : outcome
  } catch (error) {
    await removeOutputs(attempt)
    throw error
  }
}

/**
 * The success with its price. If some files of a fixed price could not be fetched, only the stored files are charged. If another
 * server made the files and their price is unknown, the job goes under review: an operator decides.
 * @throws PriceError if this server made the files and their price is unknown
 */
function price(
  { claimed, model, isSubmitted, isAsRecorded, deps }: Attempt,
  outputs: readonly Asset[],
  { usage: reported, made = outputs.length, upstreamModel = null }: EngineResult,
): JobOutcome {
  const { job, usagePrice } = claimed
  const usage = { ...measureOutputs(outputs), ...reported }
  try {
    const creditsActual =
      usagePrice === null ? shareOf(job.creditsHeld, outputs.length, made) : priceUsage(usagePrice, usage)
    const madeBy = { version: model.runVersion, engine: model.engine.kind, model: upstreamModel }
    return { status: 'succeeded', outputs, creditsActual, ...(isAsRecorded && { madeBy }) }
  } catch (error) {
    if (!isSubmitted) throw error
    deps.log.warn({ err: error, job_id: job.jobId, model: job.model, usage }, 'a run has no known price')
    return { status: 'needs_review', outputs }
  }
}

/** What another server was paid for, and cannot be served, is not thrown away: an operator decides. */
function refuse(
  { claimed: { job }, deps }: Attempt,
  outputs: readonly Asset[],
  refusals: readonly string[],
): JobOutcome {
  const words = refusals.join(' ')
  deps.log.warn({ job_id: job.jobId, model: job.model, outputs: words }, 'outputs of a paid run were refused')
  return review(outputs, 'output_invalid', words)
}

/** What could not be signed is not delivered without a signature, if the operator wants it so. */
function hold(
  { claimed: { job }, deps }: Attempt,
  outputs: readonly Asset[],
  unsigned: readonly string[],
  priced: JobOutcome,
): JobOutcome {
  const price = priced.status === 'succeeded' ? countCredits(priced.creditsActual) : 'unknown'
  const words = `${unsigned.join(' ')} Its price is ${price}.`
  deps.log.warn({ job_id: job.jobId, model: job.model, outputs: words }, 'outputs that could not be signed are held')
  return review(outputs, 'output_unsigned', words)
}

/**
 * The input with defaults: those of its start stay. The catalog may have changed since; what the start added is left out if it does
 * not fit any more, and then nothing is said of how the job could be made again.
 */
async function checkInput(attempt: Attempt): Promise<JsonObject> {
  const { input, job } = attempt.claimed
  const checked = attempt.model.checkInput(input)
  if (checked.ok) return checked.input
  // A submission that was made is not refused afterwards.
  if (continues(attempt)) return input
  const stored = await attempt.deps.store.getInput(job.jobId)
  const sent = stored && attempt.model.checkInput(stored.input)
  if (!sent?.ok) throw new EngineError('invalid_input', 'The input no longer fits the schema of the model.')
  attempt.isAsRecorded = false
  return sent.input
}

/**
 * Fetches the media of the input, then runs the engine; both count against the time limit. Media from other servers is
 * fetched before the run has a slot.
 */
async function runEngine(engine: Engine, input: JsonObject, attempt: Attempt): Promise<EngineResult> {
  const { model, watched } = attempt
  const { job, checkpoint } = attempt.claimed
  let fetched: ReturnType<EngineRun['media']> | undefined
  const media: EngineRun['media'] = () =>
    (fetched ??= fetchAll(input, attempt).then((files) => (attempt.media = files)))
  if (!continues(attempt)) await media()
  watched.signal.throwIfAborted()
  await attempt.enter()
  // If it is admitted and ended in the same turn, the end counts.
  watched.signal.throwIfAborted()
  // From here on the engine decides what happens to the job if the run is lost. If the decision
  // changes, it is durable before the run begins.
  if (engine.afterLoss(model.engine, checkpoint) !== attempt.afterLoss)
    await saveCheckpoint(attempt, engine, checkpoint)
  const run: EngineRun = {
    jobId: job.jobId,
    model: job.model,
    owner: job.accountId,
    attempt: job.attempts,
    input,
    checkpoint,
    ...watched,
    media,
    folder: async () => (await openOutputFolder(attempt), toOutputFolder(attempt)),
    saveCheckpoint: (value, upstream) => saveCheckpoint(attempt, engine, value, upstream),
    waiting: (turn) => awaitTurn(attempt, turn),
    preview(file) {
      // After the end of the job, drafts of a program that still runs are ignored.
      if (!attempt.decided) (attempt.drafts ??= createDrafts(attempt)).show(file)
    },
    download: createDownloads(attempt),
  }
  const facts = { 'mediagen.engine': engine.kind }
  return await inSpan(attempt.deps.traces, 'engine', { facts }, () =>
    patiently(attempt, () => engine.run(model.engine, run)),
  )
}

/** What `turn` resolves to; the time limit does not count meanwhile. */
async function awaitTurn<Result>({ time, watched }: Attempt, turn: Promise<Result>): Promise<Result> {
  time.hold()
  try {
    return await turn
  } finally {
    if (!watched.signal.aborted) time.run()
  }
}

function fetchAll(input: JsonObject, attempt: Attempt) {
  const { model, folder, watched, deps, claimed } = attempt
  const references = model.mediaOf(input)
  const fetching = {
    references,
    accountId: claimed.job.accountId,
    folder: join(folder, 'media'),
    maxBytes: deps.maxInputBytes,
    signal: watched.signal,
  }
  if (references.length === 0) return fetchMedia(deps.media, fetching)
  attempt.usesFolder = true
  const facts = { 'mediagen.files': references.length }
  return inSpan(deps.traces, 'fetch media', { facts }, () => fetchMedia(deps.media, fetching))
}

/**
 * Runs an engine that may find no file descriptor. A run that may be repeated is given back then; one that may not would go to
 * review, and waits in its slot instead if its program was not even started.
 */
function patiently<Result>({ afterLoss, watched }: Attempt, step: () => Promise<Result>): Promise<Result> {
  return afterLoss === 'never' ? whenDescriptors(step, watched.signal, wasNotSpawned) : step()
}

/** Whether the program of an engine could not even be started. */
function wasNotSpawned(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause)
    if ('syscall' in error && String(error.syscall).startsWith('spawn')) return true
  return false
}
