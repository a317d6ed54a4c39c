// What the end of a job writes, by the state that it finds (P58, P59, P63).
import { expect, test } from 'vitest'
import { decideSettlement, type Ending, type SettlementState } from '../../src/core/credits/settlement.ts'

const nowMs = 1000
const job = {
  jobId: 'job_x',
  status: 'running',
  progress: 0.4,
  creditsHeld: 10,
  createdAtMs: 1,
  startedAtMs: 2,
  finishedAtMs: null,
} as const
const account = { available: 5, held: 10 }
const error = { code: 'x', message: 'It broke.', retryable: true }
const failed = { status: 'failed', error, spent: false } as const
const decide = (end: Ending, fields: Partial<SettlementState['job']> = {}, state: Partial<SettlementState> = {}) =>
  decideSettlement({ job: { ...job, ...fields }, account, share: null, ...state }, end, nowMs)

test('a success is charged what it cost, at most the hold; the rest goes back', () => {
  expect(decide({ status: 'succeeded', creditsActual: 4, outputs: [] })).toEqual({
    status: 'succeeded',
    progress: 1,
    charged: 4,
    released: 6,
    postings: [
      { kind: 'charge', credits: 4, after: { available: 5, held: 6 } },
      { kind: 'release', credits: 6, after: { available: 11, held: 0 } },
    ],
    outputs: [],
    madeBy: null,
    error: null,
    finishedAtMs: nowMs,
    spentRuns: 0,
    finish: null,
  })
  expect(decide({ status: 'succeeded', creditsActual: 99 })).toMatchObject({ charged: 10, released: 0, outputs: null })
})

test('any other end releases everything and says why; a lost run is counted', () => {
  const lost = { status: 'failed', error, spent: true } as const
  expect(decide(lost)).toMatchObject({ charged: 0, released: 10, error, progress: 0.4, outputs: null, spentRuns: 1 })
})

test('a job that never ran leaves its position in the queue, one that waited for a retry does not', () => {
  const share = { virtualTime: 3, finish: 30 }
  const canceled = { status: 'canceled', error, spent: false } as const
  expect(decide(canceled, { status: 'queued', startedAtMs: null }, { share })).toMatchObject({ finish: 20 })
  expect(decide(canceled, { status: 'queued' }, { share })).toMatchObject({ finish: null })
})

test('an end is never before the start, or before the review began', () => {
  expect(decide(failed, { startedAtMs: 5000 })).toMatchObject({ finishedAtMs: 5000 })
  expect(decide(failed, { status: 'needs_review', finishedAtMs: 7000 })).toMatchObject({ finishedAtMs: 7000 })
})

test('what cannot be is a bug: an end after the end, no account, parts of credits', () => {
  expect(() => decide(failed, { status: 'succeeded' })).toThrow('cannot become failed')
  expect(() => decide(failed, {}, { account: null })).toThrow('no account')
  expect(() => decide({ status: 'succeeded', creditsActual: 0.5 })).toThrow(RangeError)
})
