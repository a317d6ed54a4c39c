// One job on a fake provider, in memory, with crashes at every await, lost answers and cancels, all from one seed. It plays the
// part of the runner and the store as packages/engine promises them: checkpoints that are durable when saved, runs that are
// continued, reviews and cancels that are asked for again.
import { writeFile } from 'node:fs/promises'
import {
  ClaimLost,
  EngineError,
  type EngineRun,
  type JsonValue,
  OutcomeUnknown,
  type UpstreamRun,
} from '@mediagen/engine/engine.ts'
import type { UpstreamClient } from '../../../src/outgoing/upstream-client.ts'
import { createFakeClient, type Fault, type FakeUpstream, html } from './fakes/fake.ts'
import type { KindCase } from './kinds.ts'
import { secrets } from './kinds.ts'
import { createFastClock, openRemote } from './remote-run.ts'

const origin = 'http://fake.test'
const mostRuns = 60
const faultRate = 0.15
const crashRate = 0.06
const failureRate = 0.1

/** What became of a job. */
export interface SimulatedJob {
  readonly status: 'succeeded' | 'failed' | 'canceled' | 'needs_review'
  readonly error: string | null
  readonly records: ReadonlyMap<number, UpstreamRun>
  readonly runs: number
  /** Submissions that the provider accepted. */
  readonly accepted: number
  readonly fake: FakeUpstream
  readonly crashes: number
}

/** Random numbers, 0 … 1, that depend on the seed alone (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

class Crash extends Error {}

/** A client that sends a key, as the real one does. */
function withKey(key: Readonly<Record<string, string>>, client: UpstreamClient): UpstreamClient {
  return { ...client, request: (asked) => client.request({ ...asked, headers: { ...asked.headers, ...key } }) }
}

/** Runs one job to its end. */
export async function simulate(one: KindCase, seed: number, folder: string): Promise<SimulatedJob> {
  const random = createRandom(seed)
  const chance = (rate: number): boolean => random() < rate
  const clock = createFastClock()
  const { fake, submissions } = one.open(clock.nowMs, chance(failureRate))
  const faults: Fault[] = [
    'cut before',
    'cut after',
    'truncate',
    'bad gateway',
    { status: 503, body: 'later' },
    { status: 500, body: 'oops' },
    html,
  ]
  const limited = { status: 429, headers: { 'retry-after': '2' }, json: { detail: 'slow down' } }
  let quiet = false
  const client = createFakeClient(fake, origin, () => {
    if (quiet || !chance(faultRate)) return null
    return chance(0.2) ? limited : (faults[Math.floor(random() * faults.length)] ?? null)
  })
  const job = { checkpoint: null as JsonValue, records: new Map<number, UpstreamRun>(), ended: false }
  let crashes = 0
  let runs = 0

  function record(upstream: UpstreamRun | null | undefined): void {
    if (!upstream) return
    const known = job.records.get(upstream.n)
    job.records.set(upstream.n, { ...upstream, upstreamId: upstream.upstreamId ?? known?.upstreamId ?? null })
  }

  /** A process: after its crash nothing that it waited for returns. */
  function createProcess() {
    let crash: (error: Crash) => void = () => {}
    const crashed = new Promise<never>((_, reject) => (crash = reject))
    crashed.catch(() => {})
    let isDead = false
    const step = async <Value>(act: () => Promise<Value>): Promise<Value> => {
      const die = async (): Promise<never> => {
        isDead = true
        crash(new Crash())
        return new Promise(() => {})
      }
      if (isDead || (!quiet && chance(crashRate))) return die()
      const value = await act()
      if (!quiet && chance(crashRate)) return die()
      return value
    }
    return { crashed, step }
  }

  async function runOnce(signal: AbortSignal): Promise<'succeeded' | Error> {
    const { crashed, step } = createProcess()
    const engine = openRemote(one.kind, secrets, {
      nowMs: clock.nowMs,
      random,
      pause: (ms, aborted) => step(() => clock.pause(ms, aborted)),
      openClient: ({ credentials }) =>
        withKey(credentials, { ...client, request: (asked) => step(() => client.request(asked)) }),
    })
    const run: EngineRun = {
      jobId: `job_${seed}`,
      model: 'm',
      owner: 'a',
      attempt: runs,
      input: one.input,
      checkpoint: job.checkpoint,
      folder: async () => folder,
      signal,
      media: async () => new Map(),
      onProgress: () => {},
      waiting: (turn) => turn,
      preview: () => {},
      saveCheckpoint: (value, upstream) =>
        step(async () => {
          // As the store: what a run learned after its job had ended is used for ending it there.
          record(upstream)
          job.checkpoint = value
          if (job.ended) throw new ClaimLost()
        }),
      download: (_url, file) =>
        step(async () => {
          if (!quiet && chance(faultRate)) throw new EngineError('download_failed', 'cut', true)
          await writeFile(`${folder}/${file}`, 'x')
          return { bytes: 1, contentType: null }
        }),
    }
    const running = engine.run(one.toSpec(origin), run).then(
      () => 'succeeded' as const,
      (error: unknown) => error as Error,
    )
    return Promise.race([running, crashed.catch((error: Crash) => error)])
  }

  const quietEngine = openRemote(one.kind, secrets, {
    nowMs: clock.nowMs,
    pause: clock.pause,
    openClient: ({ credentials }) => withKey(credentials, client),
  })
  const past = () => ({
    jobId: `job_${seed}`,
    model: 'm',
    checkpoint: job.checkpoint,
    signal: new AbortController().signal,
  })

  async function reconcile(): Promise<boolean> {
    for (let asked = 0; asked < 5; asked++) {
      await clock.pause(60_000, new AbortController().signal)
      const found = await quietEngine.reconcile?.(one.toSpec(origin), past())
      if (found?.state !== 'known') continue
      record(found.upstream)
      job.checkpoint = found.checkpoint
      return true
    }
    return false
  }

  async function end(status: SimulatedJob['status'], error: string | null): Promise<SimulatedJob> {
    job.ended = true
    const isOpen = [...job.records.values()].some(({ verdict }) =>
      ['submitting', 'accepted', 'unknown'].includes(verdict),
    )
    if ((status === 'failed' || status === 'canceled') && isOpen) {
      quiet = true
      for (let asked = 0; asked < 30; asked++) {
        const answer = await quietEngine.cancel?.(one.toSpec(origin), past()).then(
          (upstream) => ({ upstream }),
          () => null,
        )
        if (answer) {
          record(answer.upstream)
          break
        }
        await clock.pause(60_000, new AbortController().signal)
      }
    }
    return { status, error, records: job.records, runs, accepted: submissions(), fake, crashes }
  }

  const cancelAt = chance(0.2) ? Math.floor(random() * 4) : -1
  for (let lost = 0; runs < mostRuns;) {
    runs += 1
    // In the end the weather clears up.
    quiet = runs > 20
    const abort = new AbortController()
    if (runs === cancelAt + 1 && cancelAt >= 0) {
      setImmediate(() => {
        job.ended = true
        abort.abort('canceled')
      })
    }
    const outcome = await runOnce(abort.signal)
    if (job.ended) return end('canceled', null)
    if (outcome === 'succeeded') return end('succeeded', null)
    if (outcome instanceof Crash) {
      crashes += 1
      if (quietEngine.afterLoss(one.toSpec(origin), job.checkpoint) === 'again') lost += 1
      continue
    }
    if (outcome instanceof OutcomeUnknown) {
      if (await reconcile()) continue
      return end('needs_review', outcome.message)
    }
    if (outcome instanceof EngineError && outcome.retryable && lost < 8) {
      lost += 1
      continue
    }
    return end('failed', `${outcome instanceof EngineError ? outcome.code : ''} ${String(outcome)}`)
  }
  throw new Error('the job never ended')
}
