// The outputs of a run: from the engine's folder into the asset store.
import { mkdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { whenDescriptors } from '@mediagen/engine/descriptors.ts'
import { EngineError, type EngineResult } from '@mediagen/engine/engine.ts'
import { type HeldFolder, holdFolder } from '@mediagen/engine/held-folder.ts'
import { toFieldName } from '@mediagen/engine/media.ts'
import type { Asset, PutOptions } from '../../core/files/asset.ts'
import { type Claim, toOutputSourceType } from '../../core/files/provenance.ts'
import { type Attempt, toFolderName, toOutputFolder } from '../attempt.ts'

/** After this the log says that an output takes long. */
const slowMs = 60_000

/** The engine's folder, made when it is first asked for. Waits for a file descriptor, unless the run can begin anew. */
export function openOutputFolder(attempt: Attempt): Promise<HeldFolder> {
  const path = toOutputFolder(attempt)
  const open = async (): Promise<HeldFolder> => {
    await mkdir(path, { recursive: true })
    return await holdFolder(path)
  }
  attempt.usesFolder = true
  attempt.outputs ??= (attempt.afterLoss === 'again' ? open() : whenDescriptors(open, attempt.watched.signal)).catch(
    (error: unknown) => {
      // The next one who asks tries again.
      attempt.outputs = null
      throw error
    },
  )
  return attempt.outputs
}

/** Closes the engine's folder, if there is one. */
export async function closeOutputFolder({ outputs }: Attempt): Promise<void> {
  const folder = await outputs?.catch(() => null)
  folder?.[Symbol.dispose]()
}

/** What came of the outputs of a run. */
interface StoredOutputs {
  readonly outputs: readonly Asset[]
  /** Of those of a paid run that cannot be served; their files are kept. */
  readonly refusals: readonly EngineError[]
  /** Of those that could not be signed, as sentences. */
  readonly unsigned: readonly string[]
}

/**
 * Stores the outputs in their order. If one cannot be stored, none is. Outputs of a paid run have a time limit of their own: the
 * time limit of the model must not lose files that were paid for and that may exist nowhere else.
 */
export async function storeOutputs(result: EngineResult, attempt: Attempt): Promise<StoredOutputs> {
  const { isSubmitted, time, deps } = attempt
  const { isPaid = false } = result
  if (isSubmitted) time.hold()
  const untilMs = performance.now() + deps.paidOutputMs
  const outputs: Asset[] = []
  const refusals: EngineError[] = []
  const unsigned: string[] = []
  const claim = toClaim(attempt)
  for (const [index, path] of (await findOutputs(result, attempt)).entries()) {
    const patienceMs = isSubmitted ? Math.max(0, untilMs - performance.now()) : undefined
    const onUnsigned = (why: string): void => void unsigned.push(`Output ${basename(path)} was not signed: ${why}.`)
    try {
      outputs.push(await storeOutput(attempt, index, path, { patienceMs, keepsRefused: isPaid, claim, onUnsigned }))
    } catch (error) {
      if (!isPaid || !(error instanceof EngineError) || error.code !== 'output_invalid') throw error
      refusals.push(error)
    }
  }
  return { outputs, refusals, unsigned }
}

/** Removes what a run of the job has stored. While the store of files is in trouble it stays: the survey of files finds it later. */
export async function removeOutputs({ claimed: { job }, deps }: Attempt, run: number = job.attempts): Promise<void> {
  await deps.assets.remove(toFolderName(job, run)).catch((error: unknown) => {
    deps.log.warn({ err: error, job_id: job.jobId }, 'outputs of a run that did not count could not be removed yet')
  })
}

/** What can be said of the outputs. A run that continues has not fetched its media, and names none. */
function toClaim({ claimed: { job, input }, model, media }: Attempt): Claim {
  const references = model.mediaOf(input)
  const fields = new Set(references.map(({ pointer }) => pointer.split('/')[1]))
  return {
    jobId: job.jobId,
    model: model.id,
    version: model.version,
    sourceType: toOutputSourceType(model.sourceType, references.length > 0),
    input: Object.fromEntries(Object.entries(input).filter(([name]) => !fields.has(name))),
    ingredients: [...(media ?? [])].map(([pointer, path]) => ({ path, name: toFieldName(pointer) })),
  }
}

/** Paths of the outputs, in the folder that the engine was given, even if its path was replaced meanwhile. */
async function findOutputs({ files }: EngineResult, attempt: Attempt): Promise<string[]> {
  if (files.length === 0) return []
  const outputs = await openOutputFolder(attempt)
  if (!(await outputs.isInPlace()))
    throw new EngineError('output_invalid', 'The folder of the outputs was replaced by something else.')
  return files.map((file) => {
    if (file !== basename(file)) throw new Error(`an engine named an output outside of its folder: ${file}`)
    return outputs.pathOf(file)
  })
}

/** Stores an output. A failing disk is not the engine's fault, and fails only this run. */
async function storeOutput(
  { claimed: { job }, deps, watched: { signal } }: Attempt,
  index: number,
  path: string,
  options: Pick<PutOptions, 'patienceMs' | 'keepsRefused' | 'claim' | 'onUnsigned'>,
): Promise<Asset> {
  let trouble: unknown = null
  const sayLate = (): void =>
    deps.log.warn({ job_id: job.jobId, ...(trouble !== null && { err: trouble }) }, 'an output is not stored yet')
  const late = setTimeout(sayLate, slowMs)
  const onTrouble = (error: unknown): void => void (trouble = error)
  try {
    const asset = await deps.assets.put(toFolderName(job), index, path, {
      owner: job.accountId,
      signal,
      ...options,
      onTrouble,
    })
    const problem = asset.provenance?.problem
    if (problem) deps.log.warn({ job_id: job.jobId, output: index, problem }, 'an output has a problem of provenance')
    return asset
  } catch (error) {
    // The cause that ended the run decides its error.
    signal.throwIfAborted()
    if (error instanceof EngineError) throw error
    deps.log.error({ err: error, job_id: job.jobId }, 'an output could not be stored')
    throw new EngineError(
      'output_not_stored',
      'The outputs could not be stored on this server. Nothing was charged.',
      true,
    )
  } finally {
    clearTimeout(late)
  }
}
