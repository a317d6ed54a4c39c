// One run of one job: its time, its slot, its folder and its end.
import { rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { whenDescriptors } from '@mediagen/engine/descriptors.ts'
import type { Model } from '../catalog/model.ts'
import { type ClaimedJob, creditsShown } from '../core/jobs/job.ts'
import type { Heartbeat } from '../core/store.ts'
import type { Span } from '../core/traces.ts'
import { type Attempt, continues, type RunDeps, type StopReason, toOutputFolder } from './attempt.ts'
import { endJob } from './durable.ts'
import { closeOutputFolder, removeOutputs } from './media/outputs.ts'
import { runToOutcome } from './outcome.ts'
import { createAllowance } from './slots/allowance.ts'
import { openRunSpan } from './spans.ts'
import { unlessAborted } from './waiting.ts'

// A run that goes on has at least this long, so that what another server finished meanwhile is fetched.
const leastContinuationMs = 60_000

/**
 * The phase of a run: it fetches from other servers, has its files and waits for a slot, or has a slot. Files from this
 * machine alone are fetched in the slot.
 */
export type Phase = 'fetching' | 'fetched' | 'working'

/** A current run. */
export interface Run {
  readonly jobId: string
  readonly accountId: string
  readonly model: Model
  readonly phase: Phase
  /** Whether its engine only waits for others, so it takes no slot. */
  readonly isLight: boolean
  /** Gives a fetched run its slot. */
  admit(): void
  /** Resolves when the job was ended or given back; never rejects. */
  readonly done: Promise<void>
  stop(reason: StopReason): void
  /** The content of the next heartbeat. */
  takeHeartbeat(): Heartbeat
  /** Whether the outcome is decided, so a cancel cannot change it. */
  isDecided(): boolean
}

/** Starts a run of a claimed job. */
export function startRun(claimed: ClaimedJob, model: Model, deps: RunDeps): Run {
  const { job, token } = claimed
  const abort = new AbortController()
  const abandon = new AbortController()
  let progress = 0
  const fetches =
    !continues({ claimed }) && model.mediaOf(claimed.input).some(({ reference }) => deps.media.isRemote(reference))
  const admitted = Promise.withResolvers<void>()
  const time = createAllowance(leftMs(claimed, model), () => abort.abort('timeout' satisfies StopReason))

  function stop(reason: StopReason): void {
    abort.abort(reason)
    if (reason === 'lost' || reason === 'stopping') abandon.abort(reason)
  }

  async function enter(): Promise<void> {
    if (run.phase === 'working') return
    run.phase = 'fetched'
    time.hold()
    deps.onFetched()
    await unlessAborted(admitted.promise, abort.signal)
    time.run()
  }

  const attempt: Attempt = {
    claimed,
    model,
    folder: join(deps.workFolder, `${job.jobId}-${job.attempts}`),
    usesFolder: false,
    outputs: null,
    media: null,
    drafts: null,
    checkpoint: claimed.checkpoint,
    afterLoss: claimed.afterLoss,
    watched: {
      signal: abort.signal,
      onProgress(fraction) {
        if (fraction > progress) progress = Math.min(fraction, 1)
      },
    },
    time,
    enter,
    isSubmitted: claimed.msSinceSubmission !== null,
    isAsRecorded: true,
    deps,
    lose: () => stop('lost'),
    abandoned: abandon.signal,
    engineEnd: Promise.resolve(),
    decided: false,
  }
  // `phase` is a property: getters of object literals are slow to read, and each round reads the phases of all runs.
  const run = {
    jobId: job.jobId,
    accountId: job.accountId,
    model,
    phase: (fetches ? 'fetching' : 'working') as Phase,
    isLight: isLight(deps.engines, model),
    admit() {
      run.phase = 'working'
      admitted.resolve()
    },
    done: Promise.resolve(),
    stop,
    takeHeartbeat: () => ({ jobId: job.jobId, token, progress }),
    isDecided: () => attempt.decided,
  }
  const span = openRunSpan(claimed, deps.traces)
  run.done = span.run(() =>
    perform(attempt, abort, span)
      .catch((error: unknown) => {
        deps.log.error({ err: error, job_id: job.jobId }, 'a job could not be ended')
      })
      .finally(() => span.end()),
  )
  return run
}

/** Removes the folder of a run. Usually it is empty, because the outputs were moved away, and need not be listed. */
async function removeFolder(attempt: Attempt): Promise<void> {
  const { folder } = attempt
  try {
    await rmdir(toOutputFolder(attempt))
    await rmdir(folder)
  } catch {
    await whenDescriptors(() => rm(folder, { recursive: true, force: true }))
  }
}

/** Whether runs of a model only wait for others. */
export function isLight(engines: RunDeps['engines'], { engine }: Model): boolean {
  return engines.get(engine.kind)?.waits(engine) === true
}

/** The time limit counts from the first submission, and not anew for each run. */
function leftMs({ msSinceSubmission }: ClaimedJob, { timeoutMs }: Model): number {
  return msSinceSubmission === null ? timeoutMs : Math.max(leastContinuationMs, timeoutMs - msSinceSubmission)
}

async function perform(attempt: Attempt, abort: AbortController, span: Span): Promise<void> {
  const { claimed, time, deps } = attempt
  const { job } = claimed
  time.run()
  const deadlineTimer =
    claimed.msToDeadline !== null &&
    setTimeout(() => abort.abort('deadline' satisfies StopReason), Math.max(0, claimed.msToDeadline))
  try {
    const outcome = await runToOutcome(attempt)
    attempt.decided = true
    const ended = outcome && (await endJob(attempt, outcome))
    // The outputs were not recorded: the claim was stale or the deadline had passed.
    if (outcome && 'outputs' in outcome && ended?.status !== outcome.status) await removeOutputs(attempt)
    const status = ended?.status ?? 'lost'
    deps.onRunEnded(job.model, status)
    const error = ended?.error ?? (outcome?.status === 'failed' ? outcome.error : null)
    span.set({ 'mediagen.status': status, ...(ended && { 'mediagen.credits': creditsShown(ended) }) })
    if (error) span.fail(error.code)
    const { jobId, model, attempts } = job
    deps.log.info({ job_id: jobId, model, status, attempt: attempts, ...(error && { error }) }, 'run ended')
  } finally {
    time.hold()
    if (deadlineTimer) clearTimeout(deadlineTimer)
    await attempt.drafts?.clear().catch((error: unknown) => {
      deps.log.error({ err: error, job_id: job.jobId }, 'drafts could not be removed')
    })
    await attempt.engineEnd
    await closeOutputFolder(attempt)
    // After a lost claim, too: no other process removes the folder while this one lives.
    if (attempt.usesFolder) await removeFolder(attempt)
  }
}
