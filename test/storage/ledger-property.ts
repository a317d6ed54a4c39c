// Random commands, many at once, against a model: every answer is the model's, credits are conserved, and the ledger verifies.
// A failure prints its seed and path.
import * as fc from 'fast-check'
import { expect } from 'vitest'
import type { JobOutcome } from '@mediagen/core/job.ts'
import type { Store } from '@mediagen/core/store.ts'
import { startOf, testError } from './fixture.ts'
import { cancel, change, claim, finish, start, type Expected, type Model } from './money-model.ts'
import { openTemporaryStore } from './sqlite-fixture.ts'

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
      startOf(account.accountId, { credits: command.credits, maxQueuedJobs: command.maxQueuedJobs }),
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
  const { status, actual } = command
  const token = job.token - command.stale
  const outcome: JobOutcome =
    status === 'succeeded'
      ? { status, outputs: [], creditsActual: actual }
      : status === 'queued'
        ? { status }
        : { status, error: testError }
  return check(store.finishJob(job.jobId, token, outcome), finish(job, token, status, actual))
}

async function expectConserved(store: Store, model: Model): Promise<void> {
  for (const { accountId, available, held, granted, charged } of model.accounts) {
    expect(await store.getAccount(accountId)).toMatchObject({ available, held })
    expect(available + held + charged).toBe(granted)
    const unsettled = model.jobs.filter(
      (job) => job.account.accountId === accountId && (job.status === 'queued' || job.status === 'running'),
    )
    expect(held).toBe(unsettled.reduce((sum, job) => sum + job.credits, 0))
  }
  for (const job of model.jobs)
    expect(await store.getJob(null, job.jobId)).toMatchObject({ status: job.status, creditsHeld: job.credits })
  expect(await store.verifyLedger()).toMatchObject({ jobs: model.jobs.length, problems: [] })
}

/** Tries so many random sequences of commands, by the seed of the run. */
export async function checkRandomCommands(numRuns: number): Promise<void> {
  const groups = fc.array(fc.array(commandArbitrary, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 25 })
  await fc.assert(
    fc.asyncProperty(groups, async (sequence) => {
      await using store = await openTemporaryStore()
      const model: Model = { accounts: [], jobs: [], virtualTime: 0 }
      for (const balance of [0, 50, 200]) {
        const { accountId } = await store.createAccount('a', balance)
        model.accounts.push({ accountId, available: balance, held: 0, granted: balance, charged: 0, finish: 0 })
      }
      for (const group of sequence) {
        const checks = group.map((command) => submit(store, model, command))
        for (const runCheck of checks) await runCheck?.()
      }
      await expectConserved(store, model)
    }),
    { numRuns },
  )
}
