// What a start does, by the state that it finds (P48, P57, P92, P175).
import { expect, test } from 'vitest'
import type { AccountStatus } from '../../src/core/accounts/account-status.ts'
import { type Budget, noLimits } from '../../src/core/accounts/limits.ts'
import { decideStart, type StartState } from '../../src/core/jobs/start.ts'

const nowMs = 1_000_000
const terms = { accountId: 'acct_x', credits: 10, maxQueuedJobs: 2, expiresInMs: 500, timeZone: 'UTC' }
const account = { available: 10, held: 5, queuedJobs: 1, status: 'active' as AccountStatus, statusReason: null }
const start = { earlier: null, account, share: null, budgets: [] }
const decide = (state: Partial<StartState<string, typeof account>>, fields: Partial<typeof terms> = {}) =>
  decideStart({ ...start, ...state }, { ...terms, ...fields }, nowMs)

test('a new job holds its credits, takes its position and has its deadline', () => {
  const share = { virtualTime: 7, finish: 3 }
  expect(decide({ share })).toEqual({
    outcome: 'created',
    account,
    writes: {
      createdAtMs: nowMs,
      day: '1970-01-01',
      deadlineAtMs: nowMs + 500,
      fair: 7,
      finish: 17,
      postings: [{ kind: 'hold', credits: 10, after: { available: 0, held: 15 } }],
    },
  })
})

test('a free job has no entry, and one without a deadline none', () => {
  const free = decideStart(start, { ...terms, credits: 0, expiresInMs: null }, nowMs)
  expect(free).toMatchObject({ writes: { postings: [], deadlineAtMs: null, fair: 0, finish: 1 } })
})

test('refusals come in this order: the key, the account, the queue, the limits, the credits', () => {
  const poor = { ...account, available: 9, queuedJobs: 2 }
  const earlier = { job: 'job_x', same: true }
  expect(decide({ earlier, account: poor })).toEqual({ outcome: 'replayed', job: 'job_x' })
  expect(decide({ earlier: { ...earlier, same: false }, account: poor })).toEqual({ outcome: 'key_reused' })
  const frozen = { ...poor, status: 'frozen' as const }
  expect(decide({ earlier, account: frozen })).toEqual({ outcome: 'replayed', job: 'job_x' })
  const notActive = { outcome: 'account_not_active', status: 'frozen', statusReason: null }
  expect(decide({ account: frozen })).toEqual(notActive)
  expect(decide({ account: poor })).toEqual({ outcome: 'too_many_jobs', queued: 2 })
  const limited: Budget = { of: 'key', limits: { ...noLimits, perStart: 9 }, spent: [] }
  expect(decide({ account: poor, budgets: [limited] })).toEqual({ outcome: 'too_many_jobs', queued: 2 })
  expect(decide({ account: { ...poor, queuedJobs: 1 }, budgets: [limited] })).toMatchObject({
    outcome: 'over_limit',
    exceeded: { of: 'key', limit: 'per_start', credits: 9, left: 9 },
  })
  expect(decide({ account: { ...poor, queuedJobs: 1 } })).toEqual({ outcome: 'no_credits', available: 9 })
})

test('a start without an account, and one with fractional credits, is a bug', () => {
  expect(() => decide({ account: null })).toThrow('no account acct_x')
  for (const credits of [-1, 0.5, Number.NaN]) expect(() => decide({}, { credits })).toThrow(RangeError)
})
