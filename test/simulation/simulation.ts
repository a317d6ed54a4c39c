// One random history of a service: clients, workers that crash, clocks that jump, restarts. All of it follows from the seed.
import type { AfterLoss, UpstreamRun } from '@mediagen/engine/engine.ts'
import type { JobOutcome } from '../../src/core/jobs/job.ts'
import type { PendingWorkAnswer } from '../../src/core/store.ts'
import { createWatcher, type JobLine } from './invariants.ts'
import { createChance } from './random.ts'
import type { Submission, World } from './world.ts'
import { createWorld } from './worlds.ts'

const beginMs = Date.parse('2026-11-20T10:00:00Z')
export const leaseMs = 15_000
const hourMs = 3_600_000
const reviewMs = 72 * hourMs
const models = [
  { model: 'fixed', maxAttempts: 3 },
  { model: 'usage', maxAttempts: 1 },
  { model: 'paid', maxAttempts: 1 },
  { model: 'remote', maxAttempts: 2 },
] as const
const error = { code: 'engine_failed', message: 'The engine failed.', retryable: true }

interface Claim {
  readonly jobId: string
  readonly token: number
}

interface Worker {
  name: string
  readonly claims: Claim[]
}

/** What happened, for the one who reads a failure. */
export interface History {
  readonly steps: number
  readonly jobs: number
  /** Jobs by their last state. */
  readonly ends: Readonly<Record<string, number>>
}

/**
 * Runs the history of a seed to its end.
 * @throws Error that names the step and what no longer held
 */
export async function simulate(seed: number, steps = 100): Promise<History> {
  const chance = createChance(seed)
  const world = await createWorld(beginMs, chance.bytes)
  const watcher = createWatcher(world)
  const accounts: string[] = []
  const workers: Worker[] = Array.from({ length: 1 + chance.below(3) }, (_, index) => ({
    name: `h:${index}:0`,
    claims: [],
  }))
  const stale: Claim[] = []
  let jobs: readonly JobLine[] = []
  let starts = 0
  let processes = workers.length
  let doing = ''

  const say = (what: string): void => void (doing = what)

  async function addAccount(): Promise<void> {
    const credits = chance.below(120)
    const { accountId } = await world.run('createAccount', 'a', credits)
    watcher.grant(accountId, credits)
    accounts.push(accountId)
  }

  function startOf(): Submission {
    const kind = chance.pick(models) ?? models[0]
    const requestDigest = Buffer.alloc(32, chance.pick(['a', 'b']))
    // Now and then a key that was used before: a replay, or a refusal.
    const idempotencyKey = chance.below(8) === 0 && starts > 0 ? `k${chance.below(starts)}` : `k${starts++}`
    return {
      name: 'startGeneration',
      args: [
        {
          ...kind,
          accountId: chance.below(40) === 0 ? 'acct_nobody' : (chance.pick(accounts) ?? ''),
          keyId: 'key_x',
          keyName: null,
          timeZone: 'UTC',
          usagePrice: null,
          labels: {},
          additions: {},
          trace: null,
          webhookUrl: null,
          input: { prompt: 'x' },
          quoteId: 'quote_x',
          idempotencyKey,
          requestDigest,
          credits: chance.pick([0, 1, 2, 5, 5, 20]) ?? 1,
          maxQueuedJobs: chance.pick([3, 100, 100]) ?? 100,
          priority: chance.pick([0, 0, 0, -1, -10]) ?? 0,
          retainMs: chance.pick([null, 1000, hourMs]) ?? null,
          expiresInMs: chance.pick([null, null, null, 1000, 20_000, hourMs]) ?? null,
        },
      ],
    }
  }

  function outcomeOf(): JobOutcome {
    const kind = chance.below(10)
    if (kind < 5) return { status: 'succeeded', outputs: [], creditsActual: chance.below(30) }
    if (kind === 5) return { status: 'failed', error }
    if (kind === 6) return { status: 'failed', error, jitter: chance.number() }
    if (kind === 7) return { status: 'canceled', error }
    return chance.below(4) === 0 ? { status: 'needs_review' } : { status: 'queued' }
  }

  const finishOf = ({ jobId, token }: Claim): Submission => ({ name: 'finishJob', args: [jobId, token, outcomeOf()] })

  async function claim(worker: Worker): Promise<void> {
    const room = Object.fromEntries(models.map(({ model }) => [model, chance.below(3)]))
    const limit = chance.below(4)
    say(`${worker.name} claims ${limit}`)
    const claimed = await world.run('claimJobs', { worker: worker.name, room, limit, leaseMs })
    if (claimed.length > limit) throw new Error(`claimed ${claimed.length} of ${limit}`)
    for (const { job, token, msToDeadline } of claimed) {
      if (job.status !== 'running') throw new Error(`claimed a job that is ${job.status}`)
      if (msToDeadline !== null && msToDeadline <= 0) throw new Error('claimed a job past its deadline')
      // As the runner does: an earlier run of the job here is given up.
      const earlier = worker.claims.findIndex(({ jobId }) => jobId === job.jobId)
      if (earlier >= 0) stale.push(...worker.claims.splice(earlier, 1))
      worker.claims.push({ jobId: job.jobId, token })
      if (job.model === 'paid') await save({ jobId: job.jobId, token }, 'never')
    }
  }

  async function save({ jobId, token }: Claim, afterLoss: AfterLoss): Promise<void> {
    const before = jobs.find(({ job_id }) => job_id === jobId)
    const verdict = afterLoss === 'continue' ? 'accepted' : afterLoss === 'never' ? 'submitting' : 'refused'
    const upstream: UpstreamRun = { n: 1, provider: 'p', upstreamId: null, verdict, cost: null }
    const saved = await world.run('saveCheckpoint', jobId, token, { checkpoint: afterLoss, afterLoss, upstream })
    if (saved && before && before.token > token) throw new Error(`${jobId}: a stale checkpoint was saved`)
  }

  async function saveSome(worker: Worker): Promise<void> {
    const held = chance.below(4) === 0 ? chance.pick(stale) : chance.pick(worker.claims)
    const isRemote = jobs.some(({ job_id, model }) => job_id === held?.jobId && model === 'remote')
    if (!held || !isRemote) return
    say(`${worker.name} saves a checkpoint of ${held.jobId}`)
    await save(held, chance.pick(['again', 'continue', 'never'] as const) ?? 'again')
  }

  async function doPendingWork(): Promise<void> {
    say('a worker asks other servers')
    for (const pending of await world.run('claimPendingWork', 2, leaseMs)) {
      const reconciled = [
        { outcome: 'known', checkpoint: 'found', afterLoss: chance.pick(['again', 'continue'] as const) ?? 'again' },
        { outcome: 'failed', error },
      ] as const
      const answers: readonly PendingWorkAnswer[] = [
        { outcome: 'again', waitMs: 1000 },
        { outcome: 'done' },
        ...(pending.kind === 'reconcile' ? reconciled : []),
      ]
      if (chance.below(4) > 0)
        await world.run('answerPendingWork', pending, chance.pick(answers) ?? { outcome: 'done' })
    }
  }

  async function beat(worker: Worker): Promise<void> {
    say(`${worker.name} beats`)
    const beats = worker.claims.map((held) => ({
      ...held,
      progress: chance.number() * 1.1,
    }))
    const { lost, cancelRequested } = await world.run('heartbeat', beats, leaseMs)
    for (const held of worker.claims.filter(({ jobId }) => lost.includes(jobId))) {
      const now = jobs.find(({ job_id }) => job_id === held.jobId)
      if (now?.status === 'running' && now.token === held.token)
        throw new Error(`${held.jobId} is lost to the one who has it`)
      stale.push(held)
    }
    worker.claims.splice(0, Infinity, ...worker.claims.filter(({ jobId }) => !lost.includes(jobId)))
    for (const held of worker.claims.filter(({ jobId }) => cancelRequested.includes(jobId)))
      if (chance.below(2) === 0) await world.run('finishJob', held.jobId, held.token, { status: 'canceled', error })
  }

  /** An end counts when its claim is the one that the job has, and otherwise changes nothing, whoever says it. */
  async function end(held: Claim): Promise<void> {
    const before = jobs.find(({ job_id }) => job_id === held.jobId)
    const counts = before?.status === 'running' && before.token === held.token
    const ended = await world.run('finishJob', held.jobId, held.token, outcomeOf())
    if ((ended !== null) !== counts)
      throw new Error(`${held.jobId}: ${counts ? 'the end was refused' : 'a stale end counted'}`)
  }

  async function finish(worker: Worker): Promise<void> {
    const held = chance.pick(worker.claims)
    if (!held) return
    say(`${worker.name} finishes ${held.jobId}`)
    await end(held)
    worker.claims.splice(worker.claims.indexOf(held), 1)
    stale.push(held)
  }

  async function finishStale(): Promise<void> {
    const held = chance.pick(stale)
    if (!held) return
    say(`a worker that was given up, or has ended it, finishes ${held.jobId}`)
    await end(held)
  }

  async function crash(worker: Worker): Promise<void> {
    say(`${worker.name} is killed`)
    stale.push(...worker.claims.splice(0))
    const dead = worker.name
    worker.name = `h:${(processes += 1)}:0`
    // The next process of this machine sees at once that it is dead; one elsewhere waits for the lease.
    if (chance.below(2) === 0) await world.run('endLeases', [dead])
  }

  async function sweep(): Promise<void> {
    const limit = chance.pick([1, 2, 100]) ?? 100
    say(`a sweep of ${limit}`)
    const { more } = await world.sweep({ leaseMs, reviewMs, limit, random: chance.number() })
    if (more) return
    for (const job of await watcher.check())
      if (
        job.status === 'running' &&
        !(job.lease_until !== null && job.lease_until > world.nowMs && job.lease_until <= world.nowMs + leaseMs)
      )
        throw new Error(`${job.job_id} runs with a lease that no sweep will end`)
  }

  async function group(): Promise<void> {
    say('a group')
    const claims = [...workers.flatMap((worker) => worker.claims), ...stale]
    const submissions = Array.from({ length: 2 + chance.below(5) }, (): Submission => {
      const held = chance.pick(claims)
      return held && chance.below(2) === 0 ? finishOf(held) : startOf()
    })
    for (const answer of await world.runGroup(submissions))
      if (answer instanceof Error && !/acct_nobody/.test(answer.message)) throw answer
  }

  async function outside(): Promise<void> {
    const job = chance.pick(jobs)
    if (!job) return
    say(`${job.job_id} is canceled or resolved`)
    if (chance.below(2) === 0) {
      const after = await world.run('requestCancel', job.account_id, job.job_id)
      if (job.status === 'queued' && after?.status !== 'canceled') throw new Error('a queued job was not canceled')
      if ((await world.run('requestCancel', 'acct_other', job.job_id)) !== null)
        throw new Error("another's job was canceled")
    } else {
      const charge = chance.below(25)
      const { outcome } = await world.run('resolveReview', job.job_id, charge)
      const expected =
        job.status !== 'needs_review' ? 'not_in_review' : charge > job.credits_held ? 'above_hold' : 'done'
      if (outcome !== expected) throw new Error(`resolving was ${outcome}, not ${expected}`)
    }
  }

  function passTime(): void {
    const byMs =
      chance.pick([1, 100, 1000, 1000, 5000, leaseMs, 60_000, hourMs, 80 * hourMs, -1000, -60_000, -hourMs]) ?? 0
    say(`${byMs} ms pass`)
    world.nowMs += byMs
  }

  async function adjust(): Promise<void> {
    const accountId = chance.pick(accounts) ?? ''
    const credits = chance.below(40) - 15
    if (credits === 0) return
    say(`${accountId} is given ${credits}`)
    if ((await world.run('adjustCredits', accountId, credits, 'x')).outcome === 'done')
      watcher.grant(accountId, credits)
  }

  const each = (act: (worker: Worker) => Promise<void>) => () => act(chance.pick(workers) as Worker)
  const acts: readonly (readonly [weight: number, act: () => Promise<void> | void])[] = [
    [
      16,
      async () => {
        say('a start')
        for (const answer of await world.runGroup([startOf()]))
          if (answer instanceof Error && !/acct_nobody/.test(answer.message)) throw answer
      },
    ],
    [14, each(claim)],
    [10, each(beat)],
    [8, each(saveSome)],
    [4, doPendingWork],
    [12, each(finish)],
    [4, finishStale],
    [4, each(crash)],
    [10, sweep],
    [5, group],
    [7, outside],
    [14, passTime],
    [2, adjust],
    [
      1,
      async () => {
        say('a restart')
        await world.restart()
        for (const worker of workers) await crash(worker)
      },
    ],
  ]
  const whole = acts.reduce((sum, [weight]) => sum + weight, 0)

  try {
    for (let i = 0; i < 3; i++) await addAccount()
    for (let step = 0; step < steps; step++) {
      let left = chance.below(whole)
      const act = acts.find(([weight]) => (left -= weight) < 0)?.[1]
      try {
        await act?.()
        jobs = await watcher.check()
      } catch (cause) {
        throw new Error(`step ${step}, ${doing}: ${(cause as Error).message}`, { cause })
      }
    }
    return { steps, jobs: jobs.length, ends: await drain(world, watcher.check) }
  } finally {
    await world.close()
  }
}

/** Lets time pass and one good worker work: whatever was left over must come to an end. */
async function drain(
  world: World,
  check: () => Promise<readonly JobLine[]>,
): Promise<Readonly<Record<string, number>>> {
  const room = Object.fromEntries(models.map(({ model }) => [model, 100]))
  for (let round = 0; (await check()).some(({ status }) => status === 'queued' || status === 'running'); round++) {
    if (round > 20) throw new Error('drain: some jobs never end')
    world.nowMs += 61_000
    while ((await world.sweep({ leaseMs, reviewMs, limit: 100, random: 0.5 })).more);
    const claimed = await world.run('claimJobs', { worker: 'last', room, limit: 1000, leaseMs })
    await check()
    for (const { job, token } of claimed)
      await world.run('finishJob', job.jobId, token, { status: 'succeeded', outputs: [], creditsActual: 1 })
  }
  const inReview = (await check()).filter(({ status }) => status === 'needs_review').length
  // The clock may have gone back since a review began: it lasts longer then, but not for ever.
  world.nowMs += reviewMs + 1000 * hourMs
  const { released } = await world.sweep({ leaseMs, reviewMs, limit: 1000, random: 0.5 })
  if (released !== inReview) throw new Error(`drain: ${released} of ${inReview} reviews were released`)
  const ends: Record<string, number> = {}
  for (const { status } of await check()) ends[status] = (ends[status] ?? 0) + 1
  const { problems } = await world.verify()
  if (problems.length > 0) throw new Error(`drain: ${problems.join('; ')}`)
  return ends
}

/** Runs the histories of so many seeds from `first` on; how many jobs ended in each state. A failure names its seed. */
export async function simulateMany(first: number, count: number): Promise<Record<string, number>> {
  const ends: Record<string, number> = {}
  for (let seed = first; seed < first + count; seed++) {
    const history = await simulate(seed).catch((cause: unknown) => {
      throw new Error(`MEDIAGEN_TEST_SEED=${seed}: ${(cause as Error).message}`, { cause })
    })
    for (const [status, jobs] of Object.entries(history.ends)) ends[status] = (ends[status] ?? 0) + jobs
  }
  return ends
}
