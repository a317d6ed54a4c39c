// The one state machine of all remote runs: idle → submitting → submitted → fetching. Each step is saved before the next, and
// whatever may cost money is sent once: after an outcome that nobody knows, nothing is sent until it is known.
import {
  EngineError,
  type EngineResult,
  type EngineRun,
  OutcomeUnknown,
  type UpstreamCost,
  type UpstreamVerdict,
} from '@mediagen/engine/engine.ts'
import { type FoundSubmission, longestAnswerMs } from '@mediagen/engine/provider-share.ts'
import type { Candidate, UpstreamBody, UpstreamRef, UpstreamResult, Verdict } from './backend.ts'
import { openCheckpoint, type RemoteCheckpoint, toCheckpoint, toSubmissionId } from './checkpoint.ts'
import { Failed, NoVerdict, PaidForNothing, Refused, toNoVerdict } from './connection.ts'
import { findSubmission, type SubmissionMemory } from './find-submission.ts'
import { fetchResult } from './media/fetch-outputs.ts'
import type { Provider } from './provider.ts'
import type { Throttle } from './throttle.ts'

// Of a submission that only queues the run.
const submitMs = 60_000
const firstPollMs = 1000
const longestPollMs = 10_000
const firstBackoffMs = 1000
const longestBackoffMs = 60_000
/** How often a provider that cannot be reached is tried by one run. */
const mostUnreachable = 5
/** How many submissions of one run come to nothing before it gives up. */
const mostLosses = 5
/** How often one run asks about an outcome that the provider may never report. */
const mostQuestions = 4
/** How long one run asks for a run there that may be another job's: until no earlier submission awaits its answer. */
const longestContestMs = longestAnswerMs + longestPollMs
// The run there may not have ended, so it counts at its provider.
const open: ReadonlySet<UpstreamVerdict> = new Set(['submitting', 'accepted', 'unknown'])
// The run ends itself this long before the runner would, because it can say why it took so long.
const longestMarginMs = 2000

/** Time and chance, and what all runs share. */
export interface MachineDeps extends SubmissionMemory {
  readonly nowMs: () => number
  /** Resolves after this many milliseconds. @throws the signal's reason */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>
  /** 0 … 1 */
  readonly random: () => number
  readonly throttle: Throttle
  /** Does work at a provider that traces show. */
  readonly traced: <Result>(name: string, provider: string, work: () => Promise<Result>) => Promise<Result>
  /** The address for reports of the provider about a submission; null if nothing reaches this server. */
  readonly webhookOf: (submission: Omit<FoundSubmission, 'upstreamId'>) => Promise<string | null>
}

/** Runs a job on the first candidate that takes it, or goes on with what an earlier run began. */
export async function runRemote(
  candidates: readonly Candidate[],
  timeoutMs: number,
  run: EngineRun,
  deps: MachineDeps,
): Promise<EngineResult> {
  return new RemoteRun(candidates, timeoutMs, run, deps).finish()
}

class RemoteRun {
  readonly #candidates: readonly Candidate[]
  readonly #timeoutMs: number
  readonly #run: EngineRun
  readonly #deps: MachineDeps
  #note: RemoteCheckpoint
  /** How often the provider could not be reached, or was busy, or forgot the run. */
  #setbacks = 0
  /** How often what may have been accepted came to nothing. */
  #losses = 0
  /** What went wrong last, for the message of a timeout. */
  #trouble = ''

  constructor(candidates: readonly Candidate[], timeoutMs: number, run: EngineRun, deps: MachineDeps) {
    this.#candidates = candidates
    this.#timeoutMs = timeoutMs
    this.#run = run
    this.#deps = deps
    this.#note = openCheckpoint(run.checkpoint, candidates)
  }

  async finish(): Promise<EngineResult> {
    for (;;) {
      this.#run.signal.throwIfAborted()
      const { state, ref } = this.#note
      if (state === 'fetching' && ref === null) {
        await this.#leave()
        throw this.#lost('its files were lost before they were stored')
      }
      const result =
        ref !== null && (state === 'submitted' || state === 'fetching')
          ? await this.#traced('upstream run', () => this.#follow(ref))
          : state === 'idle'
            ? await this.#submit()
            : await this.#reconcile()
      if (result) return result
    }
  }

  get #candidate(): Candidate {
    const { at, provider } = this.#note
    const found = this.#candidates[at]
    if (found?.connection.provider === provider) return found
    throw new OutcomeUnknown(`The catalog no longer names ${provider}, to which the job was submitted.`)
  }

  /** One submission. Null when the machine goes on. */
  async #submit(): Promise<EngineResult | null> {
    const { backend, ...place } = this.#candidate
    if (this.#leftMs() <= 0) throw this.#timedOut()
    const n = this.#note.n + 1
    const uuid = toSubmissionId(this.#run.jobId, n)
    let body: UpstreamBody
    try {
      body = await backend.prepare({ ...place, uuid, run: this.#run })
    } catch (error) {
      // Nothing was submitted, whatever failed.
      if (!(error instanceof NoVerdict)) throw error
      return this.#onRefusal(new Refused(error.message, error.status, !error.isLasting, error.waitMs))
    }
    const { jobId } = this.#run
    const webhook = await this.#deps.webhookOf({ provider: place.connection.provider, jobId, n })
    await this.#enter(place.spec.provider)
    const key = backend.toKey(body, uuid)
    const since = this.#note.since ?? this.#deps.nowMs()
    const entered = this.#note
    await this.#save({ ...entered, state: 'submitting', n, key, since, ref: null }, 'submitting')
    // A database that was away may have taken all of the run's time.
    if (this.#run.signal.aborted || this.#leftMs() <= 0) return this.#withdraw()
    const blocks = backend.blocks(place.spec)
    const leftMs = Math.max(1000, this.#leftMs())
    let answer: UpstreamRef | UpstreamResult
    try {
      answer = await this.#traced('upstream submit', async () =>
        backend.submit({
          ...place,
          body,
          key,
          leftMs: leftMs + this.#marginMs,
          timeoutMs: blocks ? leftMs : Math.min(submitMs, leftMs),
          webhook,
          ...(blocks && { signal: this.#run.signal }),
        }),
      )
    } catch (error) {
      return this.#onFailedSubmission(error)
    }
    if ('outputs' in answer) {
      // The files exist only here. If this process dies now, they are lost, and nothing that was paid is paid again.
      const state = backend.free ? 'idle' : 'fetching'
      await this.#save({ ...this.#note, state }, 'succeeded', answer.cost as UpstreamCost | null)
      for (let pauseMs = firstPollMs; ; pauseMs = Math.min(longestPollMs, pauseMs * 1.5)) {
        const result = await fetchResult(this.#candidate, answer as UpstreamResult, this.#run, this.#leftMs() <= 0)
        if (result) return result
        await this.#wait(this.#jitter(pauseMs))
      }
    }
    await this.#keepRef(answer)
    return null
  }

  /** Waits for a place at the provider. The model's time does not count before the first submission. */
  async #enter(provider: Provider): Promise<void> {
    const entering = this.#deps.throttle.enter(provider, this.#run.jobId, this.#timeoutMs, this.#run.signal)
    if (this.#note.since === null) return this.#run.waiting(entering)
    await entering
    if (this.#leftMs() > 0) return
    await this.#leave()
    throw this.#timedOut()
  }

  /** Takes back a submission that was not sent, as nobody waits for it any more. */
  async #withdraw(): Promise<never> {
    await this.#save({ ...this.#note, state: 'idle' }, 'refused')
    this.#run.signal.throwIfAborted()
    throw this.#timedOut()
  }

  /** Saves what was accepted. If the job has ended meanwhile, the store has the run ended there. */
  async #keepRef(ref: UpstreamRef): Promise<void> {
    await this.#save({ ...this.#note, state: 'submitted', ref }, 'accepted')
  }

  async #onFailedSubmission(error: unknown): Promise<null> {
    if (error instanceof Refused) {
      await this.#save({ ...this.#note, state: 'idle' }, 'refused')
      return this.#onRefusal(error)
    }
    if (error instanceof PaidForNothing) {
      await this.#save({ ...this.#note, state: 'fetching' }, 'succeeded', error.cost)
      throw this.#lost(error.message)
    }
    if (error instanceof Failed) {
      // What was paid is not submitted again, also if this process dies before it ends the job.
      const state = this.#candidate.backend.free ? 'idle' : 'fetching'
      await this.#save({ ...this.#note, state }, 'failed', error.cost)
      throw new EngineError('provider_failed', `${this.#note.provider}: ${error.message}`)
    }
    this.#trouble = (error as Error).message
    await this.#save(this.#note, 'unknown')
    return null
  }

  /** Waits, turns to the next candidate, or gives up. */
  async #onRefusal(refusal: Refused): Promise<null> {
    const { provider } = this.#note
    this.#setbacks += 1
    // Some providers write sentences, and what follows begins another one.
    const trouble = refusal.message.replace(/\.$/, '')
    this.#trouble = trouble
    const isUnreachable = refusal.passing && refusal.status === null
    const next = this.#candidates[this.#note.at + 1]
    if (next && (!refusal.passing || isUnreachable)) {
      this.#note = { ...this.#note, at: this.#note.at + 1, provider: next.connection.provider }
      return null
    }
    if (!refusal.passing) throw new EngineError('provider_refused', `${trouble}. Nothing was charged.`)
    if (isUnreachable && this.#setbacks >= mostUnreachable)
      throw new EngineError('provider_unreachable', `${trouble}. Nothing was charged.`, true)
    const waitMs = Math.max(refusal.waitMs ?? 0, this.#backoffMs())
    if (waitMs > this.#leftMs())
      throw new EngineError('provider_busy', `${trouble}. It asks to wait too long. Nothing was charged.`, true)
    if (!isUnreachable) await this.#deps.throttle.pause(provider, waitMs)
    await this.#deps.pause(waitMs, this.#run.signal)
    return null
  }

  /** Finds out what became of a submission whose answer was lost. */
  async #reconcile(): Promise<null> {
    const candidate = this.#candidate
    const { free } = candidate.backend
    // What happened to the submission, if this run made it.
    const lost = this.#trouble
    // Its answer is no longer awaited, so other jobs may adopt what they find.
    if (lost === '') await this.#save(this.#note, 'unknown')
    const contestEndsMs = this.#deps.nowMs() + longestContestMs
    for (let questions = 1; ; questions++) {
      const found = await findSubmission(candidate, this.#note, this.#run.jobId, this.#deps)
      if (found.ref === 'absent') {
        await this.#save({ ...this.#note, state: 'idle' }, 'refused')
        return this.#again()
      }
      if (found.ref !== null) {
        await this.#keepRef(found.ref)
        return null
      }
      this.#trouble = [lost, found.words].filter((words) => words !== '').join('; ')
      // What costs nothing needs no review: it is waited for, and then ended there.
      if (free && this.#leftMs() <= 0) throw this.#timedOut()
      const asksAgain = questions < mostQuestions || (found.isContested && this.#deps.nowMs() < contestEndsMs)
      if (!free && (!asksAgain || this.#leftMs() <= 0)) throw new OutcomeUnknown(this.#trouble)
      await this.#wait(this.#jitter(Math.min(longestPollMs, firstPollMs * 2 ** questions)))
    }
  }

  /** Another submission after one that is known to have come to nothing, as long as there is time. */
  async #again(): Promise<null> {
    this.#setbacks += 1
    this.#losses += 1
    if (this.#leftMs() <= 0) throw this.#timedOut()
    if (this.#losses >= mostLosses) {
      const words = `${this.#note.provider} lost the job ${mostLosses} times. ${this.#trouble && `At last, ${this.#trouble}. `}`
      throw new EngineError('submission_lost', `${words}Nothing was charged.`, true)
    }
    await this.#wait(this.#backoffMs())
    return null
  }

  /** Waits for the end of an accepted run, and fetches its files. */
  async #follow(ref: UpstreamRef): Promise<EngineResult | null> {
    const candidate = this.#candidate
    await using watch = candidate.backend.watch?.(candidate, ref, this.#run) ?? null
    let isLate = false
    for (let pollMs = firstPollMs; ; pollMs = Math.min(longestPollMs, pollMs * 1.5)) {
      const verdict = await this.#look(ref)
      switch (verdict.state) {
        case 'succeeded': {
          await this.#save({ ...this.#note, state: 'fetching' }, 'succeeded', verdict.cost)
          const result = await fetchResult(candidate, verdict, this.#run, this.#leftMs() <= 0)
          if (result) return result
          break
        }
        case 'failed':
          if (verdict.retryable) await this.#forget(ref, 'failed', verdict.cost)
          else await this.#close('failed', verdict.cost)
          throw new EngineError(
            'provider_failed',
            `${this.#note.provider}: ${verdict.message}`,
            verdict.retryable ?? false,
          )
        case 'canceled':
          await this.#close('canceled')
          throw new EngineError('provider_canceled', `${this.#note.provider} canceled the run. Nothing was charged.`)
        case 'gone':
          await this.#forget(ref, 'failed')
          // Awaited here, as the watch ends in between.
          return await this.#again()
        case 'waiting':
          if (verdict.progress !== undefined) this.#run.onProgress(verdict.progress)
          watch?.renew()
      }
      if (verdict.state === 'waiting' && this.#leftMs() <= 0) {
        const ended = await candidate.backend.cancel(candidate, ref).catch(() => null)
        // What ended just before is delivered.
        if (ended === 'succeeded' && !isLate) {
          isLate = true
          continue
        }
        // If it could not be ended there, the checkpoint stays, and the store has it tried again.
        if (ended) await this.#close(ended)
        throw this.#timedOut()
      }
      await this.#wait(this.#jitter(pollMs))
    }
  }

  /** A question that fails says nothing about the run. */
  async #look(ref: UpstreamRef): Promise<Verdict> {
    const { backend, ...place } = this.#candidate
    try {
      const verdict = await backend.look(place, ref)
      this.#trouble = ''
      return verdict
    } catch (error) {
      const { message, waitMs } = toNoVerdict(error, place.connection)
      this.#trouble = message
      if (waitMs !== null) await this.#deps.throttle.pause(this.#note.provider, waitMs)
      return { state: 'waiting' }
    }
  }

  #lost(words: string): EngineError {
    const message = `${this.#note.provider} may have done the work, but ${words}. Nothing was charged.`
    return new EngineError('provider_output_lost', message)
  }

  #traced<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    return this.#deps.traced(name, this.#note.provider, work)
  }

  #leave(): Promise<void> {
    return this.#deps.throttle.leave(this.#note.provider, this.#run.jobId)
  }

  /** The accepted run has ended for good. The job stays bound to it: a later run of the job asks again, and submits nothing. */
  async #close(verdict: UpstreamVerdict, cost: UpstreamCost | null = null): Promise<void> {
    await this.#save(this.#note, verdict, cost)
  }

  /** The accepted run has ended, and another may be submitted. */
  async #forget(ref: UpstreamRef, verdict: UpstreamVerdict, cost: UpstreamCost | null = null): Promise<void> {
    // The record keeps the id, which it was given when the run was accepted.
    await this.#save({ ...this.#note, state: 'idle', ref: null, past: [...this.#note.past, ref.id] }, verdict, cost)
  }

  /** Saves a step. What has ended there, or is not submitted after all, no longer counts at the provider. */
  async #save(note: RemoteCheckpoint, verdict: UpstreamVerdict, cost: UpstreamCost | null = null): Promise<void> {
    const { n, provider, ref } = note
    const upstream = { n, provider, upstreamId: ref?.id ?? null, verdict, cost }
    // Both at once, so that the store does them in one transaction. The place is free even if the step cannot be saved.
    const left = open.has(verdict) ? null : this.#leave()
    try {
      await this.#run.saveCheckpoint(toCheckpoint(note), upstream)
      this.#note = note
    } catch (error) {
      if (verdict === 'submitting') await this.#leave()
      throw error
    } finally {
      await left
    }
  }

  /** How long the run may still last: the model's time counts from its first submission, not anew for each run. */
  #leftMs(): number {
    const { since } = this.#note
    const wholeMs = this.#timeoutMs - this.#marginMs
    return since === null ? wholeMs : since + wholeMs - this.#deps.nowMs()
  }

  /** Waits, but not beyond the end of the run's time. */
  #wait(ms: number): Promise<void> {
    const leftMs = this.#leftMs()
    return this.#deps.pause(leftMs > 0 ? Math.min(ms, leftMs) : ms, this.#run.signal)
  }

  get #marginMs(): number {
    return Math.min(longestMarginMs, this.#timeoutMs / 10)
  }

  #timedOut(): EngineError {
    return new EngineError(
      'timeout',
      `${this.#note.provider} took longer than ${this.#timeoutMs / 1000} s, the limit of the model. ${this.#trouble && `At last, ${this.#trouble}. `}Nothing was charged.`,
      true,
    )
  }

  #backoffMs(): number {
    return this.#jitter(Math.min(longestBackoffMs, firstBackoffMs * 2 ** Math.min(this.#setbacks - 1, 16)))
  }

  /** Between half and all of it. */
  #jitter(ms: number): number {
    return Math.round(ms * (0.5 + this.#deps.random() / 2))
  }
}
