// The arithmetic of credits: nothing is made, nothing is lost, nothing falls below zero (P3, P15, P58, P61, P222).
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  adjust,
  type Balance,
  grant,
  hold,
  isCredits,
  maxCredits,
  settle,
  shareOf,
} from '../../src/core/credits/ledger.ts'

const sumOf = ({ available, held }: Balance): number => available + held
const balances = fc
  .tuple(fc.maxSafeNat(), fc.maxSafeNat())
  .filter(([available, held]) => Number.isSafeInteger(available + held))
  .map(([available, held]): Balance => ({ available, held }))

test('credits are whole numbers, 0 … 2^53 - 1', () => {
  expect(maxCredits).toBe(2 ** 53 - 1)
  for (const good of [0, 1, maxCredits]) expect(isCredits(good)).toBe(true)
  for (const bad of [-1, 0.5, maxCredits + 1, Number.NaN, Number.POSITIVE_INFINITY]) expect(isCredits(bad)).toBe(false)
})

test('a grant adds to what is available', () => {
  expect(grant({ available: 1, held: 2 }, 3)).toEqual({ kind: 'grant', credits: 3, after: { available: 4, held: 2 } })
})

test('a grant beyond what can be written exactly is refused', () => {
  expect(grant({ available: maxCredits, held: 0 }, 1)).toBeNull()
  expect(grant({ available: maxCredits - 1, held: 1 }, 1)).toBeNull()
})

test('a hold moves credits from available to held, all or none', () => {
  expect(hold({ available: 5, held: 1 }, 5)).toEqual({ kind: 'hold', credits: 5, after: { available: 0, held: 6 } })
  expect(hold({ available: 5, held: 1 }, 6)).toBeNull()
})

test('a free hold is a hold of nothing', () => {
  expect(hold({ available: 0, held: 0 }, 0)?.after).toEqual({ available: 0, held: 0 })
})

test('an adjustment goes both ways, never below zero', () => {
  expect(adjust({ available: 5, held: 1 }, -5)?.after).toEqual({ available: 0, held: 1 })
  expect(adjust({ available: 5, held: 1 }, -6)).toBeNull()
  expect(adjust({ available: 5, held: 1 }, 2)?.after).toEqual({ available: 7, held: 1 })
  expect(adjust({ available: maxCredits, held: 0 }, 1)).toBeNull()
})

describe('settling a hold', () => {
  const balance: Balance = { available: 3, held: 10 }

  test.each([
    ['less than it held', 4, 4, 6, ['charge', 'release']],
    ['exactly what it held', 10, 10, 0, ['charge']],
    ['more than it held', 11, 10, 0, ['charge']],
    ['nothing', 0, 0, 10, ['release']],
  ])('what cost %s is charged at most the hold, the rest is released', (_what, actual, charged, released, kinds) => {
    const settlement = settle(balance, 10, actual)
    expect(settlement).toMatchObject({ charged, released })
    expect(settlement.postings.map(({ kind }) => kind)).toEqual(kinds)
    expect(settlement.postings.at(-1)?.after).toEqual({ available: 3 + released, held: 0 })
  })

  test('a free job settles without a posting', () => {
    expect(settle(balance, 0, 0)).toEqual({ charged: 0, released: 0, postings: [] })
  })
})

test('no sequence of events makes or loses a credit', () => {
  const events = fc.array(fc.tuple(fc.constantFrom('grant', 'hold', 'adjust', 'settle'), fc.nat(1000), fc.nat(1500)))
  fc.assert(
    fc.property(events, (sequence) => {
      let balance: Balance = { available: 0, held: 0 }
      let granted = 0
      let charged = 0
      const holds: number[] = []
      for (const [kind, credits, actual] of sequence) {
        if (kind === 'settle') {
          const held = holds.pop()
          if (held === undefined) continue
          const settlement = settle(balance, held, actual)
          expect(settlement.charged + settlement.released).toBe(held)
          charged += settlement.charged
          balance = settlement.postings.at(-1)?.after ?? balance
        } else {
          const change = kind === 'adjust' ? credits - 500 : credits
          const posting =
            kind === 'grant'
              ? grant(balance, change)
              : kind === 'hold'
                ? hold(balance, change)
                : adjust(balance, change)
          if (!posting) continue
          if (kind === 'hold') holds.push(change)
          else granted += change
          balance = posting.after
        }
        expect(balance.available).toBeGreaterThanOrEqual(0)
        expect(balance.held).toBe(holds.reduce((sum, held) => sum + held, 0))
        expect(sumOf(balance)).toBe(granted - charged)
      }
    }),
  )
})

test('what a posting leaves is always a number that JSON carries exactly', () => {
  fc.assert(
    fc.property(balances, fc.maxSafeNat(), (balance, credits) => {
      for (const posting of [
        grant(balance, credits),
        hold(balance, credits),
        adjust(balance, credits),
        adjust(balance, -credits),
      ]) {
        if (!posting) continue
        expect([posting.after.available, posting.after.held, sumOf(posting.after)].every(isCredits)).toBe(true)
      }
    }),
  )
})

test('P222 a share is exact, rounded up, and never more than the whole', () => {
  expect([shareOf(40, 2, 4), shareOf(10, 1, 3), shareOf(1, 1, 4), shareOf(7, 4, 4), shareOf(7, 5, 4)]).toEqual([
    20, 4, 1, 7, 7,
  ])
  expect(shareOf(0, 1, 2)).toBe(0)
  expect(shareOf(maxCredits, 99, 100)).toBe(8_917_127_262_193_582)
})
