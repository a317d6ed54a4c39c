// Asks other servers about jobs without a run: for the outcome of unknown runs, and to cancel runs whose jobs have
// ended. Asked again with growing pauses until they have answered.
import type { Engine, PastRun } from '@mediagen/engine/engine.ts'
import type { Logger } from 'pino'
import { backoffMs } from '@mediagen/core/loss.ts'
import type { Catalog } from '@mediagen/catalog/model.ts'
import type { Duty, DutyAnswer, Store } from '@mediagen/core/store.ts'
import { everySecond } from '../runtime/every-second.ts'
import { createRound } from '../runtime/round.ts'

const dutiesAtOnce = 16
/** How long another server may take to answer. */
const answerMs = 60_000
// Longer than an answer may take, so that no other process asks meanwhile.
const leaseMs = answerMs + 30_000

/** What the questions need. */
export interface DutyParts {
  readonly store: Pick<Store, 'claimDuties' | 'answerDuty'>
  readonly catalog: Catalog
  readonly engines: ReadonlyMap<string, Engine>
  /** A run whose job has ended is not asked about for longer. */
  readonly reviewMs: number
  /** 0 … 1, the jitter of pauses. */
  readonly random: () => number
  readonly log: Logger
}

/** Starts asking, about once a second, as long as there is something to ask. */
export function startDuties(parts: DutyParts): { stop(): Promise<void> } {
  const { store, log } = parts
  const stopping = new AbortController()
  const asked = new Set<Promise<void>>()

  async function perform(duty: Duty): Promise<void> {
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(answerMs)])
    const answer = await ask(duty, signal, parts).catch((error: unknown): DutyAnswer => {
      log.warn(
        { err: error, job_id: duty.jobId, duty: duty.kind, attempt: duty.attempts },
        'another server did not answer',
      )
      return { outcome: 'again', waitMs: backoffMs(duty.attempts, parts.random()) }
    })
    await store.answerDuty(duty, answer)
    if (answer.outcome !== 'again')
      log.info({ job_id: duty.jobId, duty: duty.kind, ...answer }, 'another server answered')
  }

  /** Claims as many as may be asked beside those that wait for an answer: a slow server holds up no other. */
  async function look(): Promise<void> {
    const free = dutiesAtOnce - asked.size
    if (free === 0) return
    const duties = await store.claimDuties(free, leaseMs)
    const mayBeMore = duties.length === free
    for (const duty of duties) {
      const asking = perform(duty)
        .catch(report)
        .then(() => {
          asked.delete(asking)
          if (mayBeMore && !stopping.signal.aborted) looking.again()
        })
      asked.add(asking)
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
      await Promise.all(asked)
    },
  }
}

/** Asks the engine of a job. Throws to be asked again. */
export async function ask(
  duty: Duty,
  signal: AbortSignal,
  { catalog, engines, reviewMs, log, random }: DutyParts,
): Promise<DutyAnswer> {
  const { jobId, model: modelId, kind, checkpoint, attempts, ageMs } = duty
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
