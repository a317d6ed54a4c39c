// One random history of a paid backend and its workers: requests that are cut off before or after they counted, or arrive late;
// workers that die or stand still at every await; cancels, deadlines, stops. All of it follows from the seed.
import { ClaimLost, type Engine, EngineError, OutcomeUnknown } from '@mediagen/engine/engine.ts'
import { runOf } from '@mediagen/engine/run-of.ts'
import type { Model } from '../../src/catalog/model.ts'
import type { ClaimedJob, JobOutcome } from '../../src/core/jobs/job.ts'
import { canceledError } from '../../src/core/jobs/loss.ts'
import { ask } from '../../src/runner/pending-work.ts'
import { createPaidEngine, type PaidBackend, type PaidState, Unreachable } from '../paid-engine.ts'
import { createWatcher } from './invariants.ts'
import { createChance } from './random.ts'
import { createWorld } from './worlds.ts'

const leaseMs = 15_000
const reviewMs = 72 * 3_600_000
const credits = 5
/** How long what is under way may take to end. */
const longestEndMs = 40 * 61_000

/** A run that the backend accepted, and bills. */
interface Accepted {
  readonly id: string
  readonly key: string
  readonly jobId: string
  state: PaidState
  /** Whether its end was told, or its cancel was asked for. */
  settled: boolean
  fetched: boolean
}

/** Something that a worker awaits. */
interface Call {
  readonly worker: Worker
  readonly kind: 'submit' | 'backend' | 'store' | 'pause'
  readonly perform: () => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

interface Running {
  readonly jobId: string
  readonly token: number
  readonly abort: AbortController
  decided: boolean
}

interface Worker {
  name: string
  runs: Running[]
}

/** How often things happened, for the one who wants to know that they did. */
export type PaidCounts = Readonly<
  Record<'accepted' | 'adopted' | 'canceled' | 'fetched' | 'released' | 'continued', number>
>

/**
 * Runs the history of a seed to its end.
 * @throws Error that names what no longer held
 */
export async function simulatePaid(seed: number, steps = 150): Promise<PaidCounts> {
  const chance = createChance(seed)
  const world = await createWorld(Date.parse('2026-11-20T10:00:00Z'), chance.bytes)
  const watcher = createWatcher(world)
  const accepted: Accepted[] = []
  const calls: Call[] = []
  /** Requests that were cut off and still arrive. */
  const late: (() => unknown)[] = []
  const counts = { accepted: 0, adopted: 0, canceled: 0, fetched: 0, released: 0, continued: 0 }
  let workers: Worker[] = Array.from({ length: 1 + chance.below(2) }, (_, index) => ({
    name: `h:${index}:0`,
    runs: [],
  }))
  let born = workers.length
  let faults = true

  const call = (worker: Worker, kind: Call['kind'], perform: () => unknown): Promise<any> =>
    new Promise((resolve, reject) => calls.push({ worker, kind, perform, resolve, reject }))
  const tick = async (): Promise<void> => {
    for (let turn = 0; turn < 12; turn++) await Promise.resolve()
  }

  function accept(key: string): { id: string } {
    const run: Accepted = {
      id: `up_${accepted.length}`,
      key,
      jobId: key.split(':')[0] ?? '',
      state: 'running',
      settled: false,
      fetched: false,
    }
    accepted.push(run)
    counts.accepted += 1
    return { id: run.id }
  }

  const named = (id: string): Accepted => {
    const run = accepted.find((one) => one.id === id)
    if (!run) throw new Error(`asked about ${id}, which there never was`)
    return run
  }

  function backendOf(worker: Worker, tells: boolean): PaidBackend {
    return {
      submit: (key) =>
        call(worker, 'submit', () => (faults && chance.below(12) === 0 ? { refused: 'bad' } : accept(key))),
      look: (id) =>
        call(worker, 'backend', () => {
          const run = named(id)
          run.settled ||= run.state !== 'running'
          return run.state
        }),
      find: (key) =>
        call(worker, 'backend', () => (tells ? (accepted.find((run) => run.key === key)?.id ?? null) : null)),
      cancel: (id) =>
        call(worker, 'backend', () => {
          const run = named(id)
          if (run.state === 'running') {
            run.state = 'canceled'
            counts.canceled += 1
          }
          run.settled = true
          return run.state
        }),
      fetch: (id) =>
        call(worker, 'backend', () => {
          named(id).fetched = true
          counts.fetched += 1
          return []
        }),
      pause: () => call(worker, 'pause', () => {}),
    }
  }

  const spec = { kind: 'paid' }
  const modelOf = (id: string) => ({ id, engine: spec }) as unknown as Model
  const engineOf = (worker: Worker, model: string): Engine =>
    createPaidEngine('paid', backendOf(worker, model === 'tells'))

  /** What the runner does with a claimed job. */
  async function perform(
    worker: Worker,
    { job, token, checkpoint, afterLoss }: ClaimedJob,
    run: Running,
  ): Promise<void> {
    const { jobId, model } = job
    const engine = engineOf(worker, model)
    if (afterLoss === 'continue') counts.continued += 1
    const outcome = await engine
      .run(
        spec,
        runOf({
          jobId,
          model,
          checkpoint,
          folder: '/',
          signal: run.abort.signal,
          async saveCheckpoint(value, upstream) {
            const saved = {
              checkpoint: value,
              afterLoss: engine.afterLoss(spec, value),
              ...(upstream && { upstream }),
            }
            if (await call(worker, 'store', () => world.run('saveCheckpoint', jobId, token, saved))) return
            run.abort.abort('lost')
            throw new ClaimLost()
          },
        }),
      )
      .then(
        (): JobOutcome => ({ status: 'succeeded', outputs: [], creditsActual: credits }),
        (error: unknown) => toOutcome(error, run),
      )
    if (outcome && !run.decided) await end(worker, run, outcome)
  }

  function toOutcome(thrown: unknown, { abort: { signal } }: Running): JobOutcome | null {
    if (signal.reason === 'lost' || signal.reason === 'canceled') return null
    if (thrown instanceof OutcomeUnknown) return { status: 'needs_review' }
    if (signal.reason === 'stopping') return { status: 'queued' }
    if (!(thrown instanceof EngineError)) throw thrown
    const { code, message, retryable } = thrown
    return { status: 'failed', error: { code, message, retryable }, ...(retryable && { jitter: chance.number() }) }
  }

  async function end(worker: Worker, run: Running, outcome: JobOutcome): Promise<void> {
    run.decided = true
    await call(worker, 'store', () => world.run('finishJob', run.jobId, run.token, outcome))
    worker.runs = worker.runs.filter((one) => one !== run)
  }

  async function claim(worker: Worker): Promise<void> {
    const room = { tells: 2, blind: 2 }
    for (const claimed of await world.run('claimJobs', { worker: worker.name, room, limit: 2, leaseMs })) {
      const run = { jobId: claimed.job.jobId, token: claimed.token, abort: new AbortController(), decided: false }
      worker.runs.push(run)
      void perform(worker, claimed, run)
    }
  }

  async function beat(worker: Worker): Promise<void> {
    const beats = worker.runs.map(({ jobId, token }) => ({ jobId, token, progress: chance.number() }))
    const { lost, cancelRequested, deadlinePassed } = await world.run('heartbeat', beats, leaseMs)
    for (const run of worker.runs) {
      if (lost.includes(run.jobId)) {
        run.abort.abort('lost')
        worker.runs = worker.runs.filter((one) => one !== run)
      } else if (!run.decided && [...cancelRequested, ...deadlinePassed].includes(run.jobId)) {
        // The job ends at once, whatever its engine is in the middle of.
        run.abort.abort('canceled')
        void end(worker, run, { status: 'canceled', error: canceledError })
      }
    }
  }

  async function doPendingWork(worker: Worker): Promise<void> {
    for (const pending of await world.run('claimPendingWork', 3, 90_000)) {
      const engines = new Map([['paid', engineOf(worker, pending.model)]])
      const catalog = { find: modelOf, ready: () => [], unready: () => null }
      const deps = { catalog, engines, reviewMs, random: () => 0.5, log: { error() {} } }
      void ask(pending, new AbortController().signal, deps as never)
        .catch(() => ({ outcome: 'again' as const, waitMs: 1000 }))
        .then(async (answer) => {
          if (answer.outcome === 'known') counts.adopted += 1
          await call(worker, 'store', () => world.run('answerPendingWork', pending, answer))
        })
    }
  }

  /** Answers a call, or does not. */
  async function answer(): Promise<void> {
    const next = calls.splice(chance.below(calls.length), 1)[0]
    if (!next) return
    const { kind, perform: act, resolve, reject } = next
    const fault = faults && (kind === 'submit' || kind === 'backend') ? chance.below(9) : 8
    if (fault === 0) reject(new Error('cut off before it counted'))
    else if (fault === 1) {
      await act()
      reject(new Error('cut off after it counted'))
    } else if (fault === 2) {
      late.push(act)
      reject(new Error('cut off on its way'))
    } else if (fault === 3 && kind === 'submit') {
      if (chance.below(2) === 0) reject(new Unreachable())
      else resolve({ refused: 'busy' })
    } else resolve(await act())
  }

  /** Dies in the middle of everything: what it had sent may still count. */
  async function kill(worker: Worker): Promise<void> {
    for (const dead of calls.filter((one) => one.worker === worker)) {
      calls.splice(calls.indexOf(dead), 1)
      if (chance.below(2) === 0) late.push(dead.perform)
    }
    workers = workers.filter((one) => one !== worker)
    if (chance.below(2) === 0) await world.run('endLeases', [worker.name])
    workers.push({ name: `h:${(born += 1)}:0`, runs: [] })
  }

  /** Gives its jobs back, as a server that stops does. */
  function stop(worker: Worker): void {
    for (const run of worker.runs) run.abort.abort('stopping')
  }

  function progress(): void {
    const run = chance.pick(accepted.filter(({ state }) => state === 'running'))
    if (run) run.state = chance.below(6) === 0 ? 'failed' : 'succeeded'
  }

  const { accountId } = await world.run('createAccount', 'a', 1000)
  watcher.grant(accountId, 1000)
  let starts = 0
  async function start(): Promise<void> {
    if (starts === 8) return
    await world.run('startGeneration', {
      accountId,
      model: chance.pick(['tells', 'tells', 'blind'] as const) ?? 'tells',
      maxAttempts: 2,
      input: {},
      quoteId: 'q',
      idempotencyKey: `k${(starts += 1)}`,
      keyName: null,
      timeZone: 'UTC',
      requestDigest: Buffer.alloc(32, 'a'),
      credits,
      maxQueuedJobs: 100,
      priority: 0,
      retainMs: null,
      expiresInMs: chance.pick([null, null, null, 120_000]) ?? null,
      keyId: 'key_x',
      usagePrice: null,
      labels: {},
      additions: {},
      trace: null,
      webhookUrl: null,
    })
  }

  async function cancelSome(): Promise<void> {
    const job = chance.pick(await watcher.check())
    if (job) await world.run('requestCancel', accountId, job.job_id)
  }

  const each = (act: (worker: Worker) => Promise<void> | void) => () => act(chance.pick(workers) as Worker)
  const acts: readonly (readonly [weight: number, act: () => unknown])[] = [
    [6, start],
    [40, answer],
    [8, each(claim)],
    [8, each(beat)],
    [3, each(kill)],
    [1, each(stop)],
    [8, progress],
    [5, each(doPendingWork)],
    [6, cancelSome],
    [3, () => late.shift()?.()],
    [6, () => world.sweep({ leaseMs, reviewMs, limit: 10, random: chance.number() })],
    [6, () => void (world.nowMs += chance.pick([100, 1000, 1000, 20_000, 61_000]) ?? 0)],
  ]
  const whole = acts.reduce((sum, [weight]) => sum + weight, 0)

  try {
    for (let step = 0; step < steps; step++) {
      let left = chance.below(whole)
      await acts.find(([weight]) => (left -= weight) < 0)?.[1]()
      await tick()
      await watcher.check()
    }
    faults = false
    for (const arrive of late.splice(0)) {
      await arrive()
      await watcher.check()
    }
    const endMs = world.nowMs + longestEndMs
    for (let next = await nextMs(); next !== null && next <= endMs; next = await nextMs()) {
      world.nowMs = next
      for (const worker of workers) await beat(worker)
      for (const run of accepted) if (run.state === 'running') run.state = 'succeeded'
      while ((await world.sweep({ leaseMs, reviewMs, limit: 100, random: 0.5 })).more);
      await watcher.check()
      const [worker] = workers
      if (worker) {
        await claim(worker)
        await watcher.check()
        await doPendingWork(worker)
        await watcher.check()
      }
      for (let most = 0; calls.length > 0 && most < 500; most++) {
        await answer()
        await tick()
        await watcher.check()
      }
      await watcher.check()
    }
    const inReview = (await watcher.check()).filter(({ status }) => status === 'needs_review')
    await checkReviews(inReview.map(({ job_id }) => job_id))
    world.nowMs += reviewMs + 1000
    counts.released = (await world.sweep({ leaseMs, reviewMs, limit: 100, random: 0.5 })).released
    await checkEnd()
    return counts
  } finally {
    await world.close()
  }

  /** When something is next to be done, in a minute at the earliest; null once nothing is left but reviews. */
  async function nextMs(): Promise<number | null> {
    const soon = world.nowMs + 61_000
    if (calls.length > 0 || (await watcher.check()).some(({ finished_at }) => finished_at === null)) return soon
    const duties = await world.rows<{ due_at: number }>('SELECT due_at FROM upstream_duties')
    return duties.length === 0 ? null : Math.max(soon, Math.min(...duties.map(({ due_at }) => due_at)))
  }

  function recordsOf(jobId: string): Promise<{ n: number; upstreamId: string | null; verdict: string }[]> {
    return world.rows(
      `SELECT u.n, u.upstream_id AS upstreamId, u.verdict FROM upstream_runs AS u JOIN jobs AS j ON j.number = u.job_number
       WHERE j.job_id = '${jobId}'`,
    )
  }

  /** Only what the backend does not tell, or never got, is still under review. */
  async function checkReviews(jobIds: readonly string[]): Promise<void> {
    const models = new Map((await watcher.check()).map(({ job_id, model }) => [job_id, model]))
    for (const jobId of jobIds)
      if (models.get(jobId) === 'tells' && accepted.some((run) => run.jobId === jobId))
        throw new Error(`${jobId}: the backend has it, and nobody asked`)
  }

  async function checkEnd(): Promise<void> {
    for (const { job_id: jobId, model, status, error, credits_charged: charged } of await watcher.check()) {
      const mine = accepted.filter((run) => run.jobId === jobId)
      const name = `${jobId} (${model}, ${status}, ${error ?? ''})`
      const [run] = mine
      if (mine.length > 1) throw new Error(`${name}: was paid ${mine.length} times`)
      if (status === 'queued' || status === 'running') throw new Error(`${name}: never ends`)
      if (status === 'succeeded' && !(run?.state === 'succeeded' && run.fetched))
        throw new Error(`${name}: has nothing`)
      if (charged !== (status === 'succeeded' ? credits : 0)) throw new Error(`${name}: was charged ${charged}`)
      if (!run) continue
      const known = (await recordsOf(jobId)).some(({ upstreamId }) => upstreamId === run.id)
      if (model === 'tells' && !known) throw new Error(`${name}: ${run.id} is not on record`)
      // What nobody wanted any more was ended there, or had ended before.
      if (status !== 'succeeded' && known && !run.settled) throw new Error(`${name}: ${run.id} is left to itself`)
      const unwanted = status === 'canceled' || /deadline_passed/.test(error ?? '')
      if (status !== 'succeeded' && known && run.state === 'succeeded' && !unwanted)
        throw new Error(`${name}: ${run.id} was made, paid and lost`)
    }
    const { problems } = await world.verify()
    if (problems.length > 0) throw new Error(problems.join('; '))
  }
}

/** Runs the histories of so many seeds from `first` on. A failure names its seed. */
export async function simulateManyPaid(first: number, count: number): Promise<PaidCounts> {
  const all = { accepted: 0, adopted: 0, canceled: 0, fetched: 0, released: 0, continued: 0 }
  for (let seed = first; seed < first + count; seed++) {
    const counts = await simulatePaid(seed).catch((cause: unknown) => {
      throw new Error(`MEDIAGEN_TEST_SEED=${seed}: ${(cause as Error).message}`, { cause })
    })
    for (const name of Object.keys(all) as (keyof PaidCounts)[]) all[name] += counts[name]
  }
  return all
}
