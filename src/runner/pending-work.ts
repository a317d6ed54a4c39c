// Asks other servers about jobs without a run: for the outcome of unknown runs, and to cancel runs whose jobs have ended. Repeats a
// question with growing pauses until the server has answered; question-slots.ts bounds the questions at once.
import type { Engine, PastRun } from '@mediagen/engine/engine.ts'
import type { Logger } from 'pino'
import type { Catalog } from '../catalog/model.ts'
import { everySecond } from '../core/every-second.ts'
import { backoffMs } from '../core/jobs/loss.ts'
import { createRound } from '../core/round.ts'
import type { PendingWork, PendingWorkAnswer, Store } from '../core/store.ts'
import { createQuestionSlots } from './slots/question-slots.ts'

/** How long another server may take to answer. */
const answerMs = 60_000
// Longer than an answer may take, so that no other process asks meanwhile.
const leaseMs = answerMs + 30_000

/** What the questions need. */
export interface PendingWorkDeps {
  readonly store: Pick<Store, 'claimPendingWork' | 'answerPendingWork'>
  readonly catalog: Catalog
  readonly engines: ReadonlyMap<string, Engine>
  /** A run whose job has ended is not asked about for longer. */
  readonly reviewMs: number
  /** 0 … 1, the jitter of pauses. */
  readonly random: () => number
  readonly log: Logger
}

/** Starts asking, about once a second, as long as there is something to ask. */
export function startPendingWork(deps: PendingWorkDeps): { stop(): Promise<void> } {
  const { store, catalog, log, random } = deps
  const slots = createQuestionSlots()
  const stopping = new AbortController()
  const underWay = new Set<Promise<void>>()

  /** @param onLate called if the answer takes long, so that others may be asked */
  async function perform(pending: PendingWork, onLate: () => void): Promise<void> {
    const end = slots.begin(whoAnswers(pending.model, catalog), onLate)
    if (end === null)
      return store.answerPendingWork(pending, { outcome: 'again', waitMs: backoffMs(pending.attempts, random()) })
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(answerMs)])
    const answer = await ask(pending, signal, deps).catch((error: unknown): PendingWorkAnswer => {
      log.warn(
        { err: error, job_id: pending.jobId, duty: pending.kind, attempt: pending.attempts },
        'another server did not answer',
      )
      return { outcome: 'again', waitMs: backoffMs(pending.attempts, random()) }
    })
    end()
    await store.answerPendingWork(pending, answer)
    if (answer.outcome !== 'again')
      log.info({ job_id: pending.jobId, duty: pending.kind, ...answer }, 'another server answered')
  }

  /** Claims as many as there are slots. */
  async function look(): Promise<void> {
    const free = slots.free()
    if (free === 0) return
    const pendingWork = await store.claimPendingWork(free, leaseMs)
    const mayBeMore = pendingWork.length === free
    const lookAgain = (): void => {
      if (mayBeMore && !stopping.signal.aborted) looking.again()
    }
    for (const pending of pendingWork) {
      const asking = perform(pending, lookAgain)
        .catch(report)
        .then(() => {
          underWay.delete(asking)
          lookAgain()
        })
      underWay.add(asking)
    }
  }

  const report = (error: unknown): void => log.error({ err: error }, 'other servers could not be asked')
  const looking = createRound(look, report)
  const stopLooking = everySecond(() => looking.again())
  looking.again()
  return {
    async stop() {
      stopLooking()
      stopping.abort()
      await looking.settled()
      await Promise.all(underWay)
    },
  }
}

/** Who is asked about runs of a model: its provider, with those of its fallbacks. Without a provider it is the model itself. */
function whoAnswers(modelId: string, catalog: Catalog): string {
  type Spec = { readonly provider?: { readonly name: string }; readonly fallback?: readonly Spec[] }
  const spec = (catalog.find(modelId)?.engine ?? {}) as Spec
  const names = [spec, ...(spec.fallback ?? [])].flatMap(({ provider }) => provider?.name ?? [])
  return names.length > 0 ? names.join(' ') : modelId
}

/** Asks the engine of a job. Throws to be asked again. */
export async function ask(
  pending: PendingWork,
  signal: AbortSignal,
  { catalog, engines, reviewMs, log, random }: PendingWorkDeps,
): Promise<PendingWorkAnswer> {
  const { jobId, model: modelId, kind, checkpoint, attempts, ageMs } = pending
  const spec = catalog.find(modelId)?.engine
  const engine = spec && engines.get(spec.kind)
  // The review itself ends with its time.
  if (kind === 'cancel' && ageMs > reviewMs) {
    log.error({ job_id: jobId, model: modelId }, 'a run was not ended on another server: it never answered')
    return { outcome: 'done' }
  }
  if (!spec || !engine) throw new Error(`this server has no engine for ${modelId}`)
  const past: PastRun = { jobId, model: modelId, checkpoint, signal }
  if (kind === 'cancel') {
    const upstream = await engine.cancel?.(spec, past)
    return { outcome: 'done', ...(upstream && { upstream }) }
  }
  if (!engine.reconcile) return { outcome: 'done' }
  const found = await engine.reconcile(spec, past)
  if (found.state === 'failed') {
    const { code, message, retryable } = found.error
    return { outcome: 'failed', error: { code, message, retryable }, upstream: found.upstream }
  }
  const afterLoss = found.state === 'known' ? engine.afterLoss(spec, found.checkpoint) : 'never'
  if (found.state === 'unknown' || afterLoss === 'never')
    return { outcome: 'again', waitMs: backoffMs(attempts, random()) }
  const { checkpoint: known, upstream } = found
  return { outcome: 'known', checkpoint: known, afterLoss, ...(upstream && { upstream }) }
}
