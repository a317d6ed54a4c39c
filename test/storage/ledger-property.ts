// Random commands, many at once: in order, each answer is that of a model; from two processes without order, each end counts once.
// Either way credits are conserved, the usage is that of the jobs and of the ledger (P293, P294), and the ledger verifies. A failure prints its seed and path.
import * as fc from 'fast-check'
import { expect } from 'vitest'
import type { Job, JobOutcome } from '../../src/core/jobs/job.ts'
import type { Store } from '../../src/core/store.ts'
import { isPostgres, openTestStore } from '../test-store.ts'
import { filterOf, type OpenTestStore, startOf, testError } from './fixture.ts'
import { cancel, change, claim, finish, start, type Expected, type Model } from './money-model.ts'
import { expectUsage, variedStart } from './usage-sums.ts'

const pick = fc.nat(1000)
const credits = fc.oneof(fc.integer({ min: 0, max: 30 }), fc.constantFrom(0, 1, 1000))
const commandArbitrary = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('start' as const),
      account: pick,
      credits,
      maxQueuedJobs: fc.constantFrom(3, 50),
      varied: pick,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      account: pick,
      credits: fc.integer({ min: -40, max: 60 }).filter((n) => n !== 0),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('claim' as const), limit: fc.integer({ min: 0, max: 4 }) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('finish' as const),
      job: pick,
      stale: fc.boolean().map((stale) => (stale ? 1 : 0)),
      status: fc.constantFrom('succeeded' as const, 'failed' as const, 'canceled' as const, 'queued' as const),
      actual: credits,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cancel' as const), job: pick }) },
)
type Command = typeof commandArbitrary extends fc.Arbitrary<infer Value> ? Value : never

function outcomeOf({ status, actual }: Extract<Command, { kind: 'finish' }>): JobOutcome {
  if (status === 'succeeded') return { status, outputs: [], creditsActual: actual }
  return status === 'queued' ? { status } : { status, error: testError }
}

function check(answer: Promise<unknown>, expected: Expected): () => Promise<void> {
  return async () => {
    const value = await answer
    if (expected === null) expect(value).toBeNull()
    else expect(value).toMatchObject(expected)
  }
}

/** Gives the command to the store, and says what the model expects; null when there is nothing yet to do it to. */
function submit(store: Store, model: Model, command: Command): (() => Promise<void>) | null {
  // Only jobs whose ids are known: one that is started in the same group is not.
  const known = model.jobs.filter(({ jobId }) => jobId !== '')
  if (command.kind === 'claim') {
    const expected = claim(model, command.limit)
    const answer = store.claimJobs({ worker: 'w', room: { 'test/image': 100 }, limit: command.limit, leaseMs: 1000 })
    return async () =>
      expect((await answer).map(({ job, token }) => [job.jobId, token])).toEqual(
        expected.map(({ jobId }) => [jobId, expect.any(Number)]),
      )
  }
  if (command.kind === 'start' || command.kind === 'change') {
    const account = model.accounts[command.account % model.accounts.length]
    if (account === undefined) return null
    if (command.kind === 'change')
      return check(store.adjustCredits(account.accountId, command.credits, 'x'), change(account, command.credits))
    const { expected, job } = start(model, account, command.credits, command.maxQueuedJobs)
    const answer = store.startGeneration(
      startOf(account.accountId, {
        credits: command.credits,
        maxQueuedJobs: command.maxQueuedJobs,
        ...variedStart(command.varied),
      }),
    )
    return async () => {
      const result = await answer
      expect(result).toMatchObject(expected ?? {})
      if (job !== null && 'job' in result) job.jobId = result.job.jobId
    }
  }
  const job = known[command.job % known.length]
  if (job === undefined) return null
  if (command.kind === 'cancel') return check(store.requestCancel(job.account.accountId, job.jobId), cancel(model, job))
  const token = job.token - command.stale
  const { status, actual } = command
  return check(store.finishJob(job.jobId, token, outcomeOf(command)), finish(job, token, status, actual))
}

async function expectConserved(store: Store, model: Model): Promise<void> {
  for (const { accountId, available, held, granted, charged } of model.accounts) {
    expect(await store.getAccount(accountId)).toMatchObject({ available, held })
    expect(available + held + charged).toBe(granted)
    const unsettled = model.jobs.filter(
      (job) => job.account.accountId === accountId && (job.status === 'queued' || job.status === 'running'),
    )
    expect(held).toBe(unsettled.reduce((sum, job) => sum + job.credits, 0))
    await expectUsage(store, accountId)
  }
  // verifyLedger computes the hashes again; here each entry is in the chain that the owner sees.
  for (const { accountId } of model.accounts) {
    const { items } = await store.listEntries(accountId, { limit: 500, offset: 0 })
    const hashes = items.map(({ hash }) => hash)
    expect(hashes).not.toContain(null)
    expect(items.map(({ previousHash }) => previousHash)).toEqual(items.length > 0 ? [...hashes.slice(1), null] : [])
  }
  for (const job of model.jobs)
    expect(await store.getJob(null, job.jobId)).toMatchObject({ status: job.status, creditsHeld: job.credits })
  expect(await store.verifyLedger()).toMatchObject({ jobs: model.jobs.length, problems: [] })
}

const groups = fc.array(fc.array(commandArbitrary, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 25 })
const balances = [0, 50, 200]

/** Those of a group that the store runs in the order in which they are submitted: in PostgreSQL, one kind that shares a transaction. */
function splitByOrder(group: readonly Command[]): Command[][] {
  if (!isPostgres) return [[...group]]
  const runs: Command[][] = []
  for (const command of group) {
    const last = runs.at(-1)
    if (last?.[0]?.kind === command.kind && /start|finish/.test(command.kind)) last.push(command)
    else runs.push([command])
  }
  return runs
}

/** Tries so many random sequences of commands, by the seed of the run. */
export async function checkRandomCommands(numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(groups, async (sequence) => {
      await using store = await openTestStore()
      const model: Model = { accounts: [], jobs: [], virtualTime: 0 }
      for (const balance of balances) {
        const { accountId } = await store.createAccount('a', balance)
        model.accounts.push({ accountId, available: balance, held: 0, granted: balance, charged: 0, finish: 0 })
      }
      for (const group of sequence.flatMap(splitByOrder)) {
        const checks = group.map((command) => submit(store, model, command))
        for (const runCheck of checks) await runCheck?.()
      }
      await expectConserved(store, model)
    }),
    { numRuns },
  )
}

/** Tries so many random sequences from two processes at once, where nobody knows which command comes first. */
export async function checkUnorderedCommands(numRuns: number, openStore: OpenTestStore = openTestStore): Promise<void> {
  await fc.assert(
    fc.asyncProperty(groups, async (sequence) => {
      await using store = await openStore()
      await using other = await store.another()
      const granted = new Map<string, number>()
      for (const balance of balances) granted.set((await store.createAccount('a', balance)).accountId, balance)
      const claims: { readonly jobId: string; readonly token: number; ended: number }[] = []
      for (const group of sequence)
        await Promise.all(
          group.map((command, index) => submitUnordered(index % 2 === 0 ? store : other, command, granted, claims)),
        )
      for (const { jobId, token, ended } of claims) expect(ended, `${jobId} ${token}`).toBeLessThanOrEqual(1)
      for (const [accountId, credits] of granted) {
        const { items: jobs } = await store.listJobs(filterOf(accountId, { limit: 500 }))
        const sum = (read: (job: Job) => number): number => jobs.reduce((total, job) => total + read(job), 0)
        const held = sum(({ status, creditsHeld }) => (status === 'queued' || status === 'running' ? creditsHeld : 0))
        const available = credits - held - sum(({ creditsCharged }) => creditsCharged)
        expect(available).toBeGreaterThanOrEqual(0)
        expect(await store.getAccount(accountId)).toMatchObject({ available, held })
        await expectUsage(store, accountId)
      }
      expect((await store.verifyLedger()).problems).toEqual([])
    }),
    { numRuns },
  )
}

async function submitUnordered(
  store: Store,
  command: Command,
  granted: Map<string, number>,
  claims: { readonly jobId: string; readonly token: number; ended: number }[],
): Promise<void> {
  const accountIds = [...granted.keys()]
  if (command.kind === 'claim') {
    const { limit } = command
    const claimed = await store.claimJobs({ worker: 'w', room: { 'test/image': 100 }, limit, leaseMs: 30_000 })
    for (const { job, token } of claimed) {
      expect(claims).not.toContainEqual({ jobId: job.jobId, token, ended: expect.any(Number) })
      claims.push({ jobId: job.jobId, token, ended: 0 })
    }
  } else if (command.kind === 'start' || command.kind === 'change') {
    const accountId = accountIds[command.account % accountIds.length] ?? ''
    const { credits } = command
    if (command.kind === 'start')
      await store.startGeneration(
        startOf(accountId, { credits, maxQueuedJobs: command.maxQueuedJobs, ...variedStart(command.varied) }),
      )
    else if ((await store.adjustCredits(accountId, credits, 'x')).outcome === 'done')
      granted.set(accountId, (granted.get(accountId) ?? 0) + credits)
  } else {
    const claim = claims[command.job % claims.length]
    if (claim === undefined) return
    const { jobId, token } = claim
    if (command.kind === 'cancel') for (const accountId of accountIds) await store.requestCancel(accountId, jobId)
    else if ((await store.finishJob(jobId, token - command.stale, outcomeOf(command))) !== null)
      claim.ended += command.stale === 0 ? 1 : 2
  }
}
