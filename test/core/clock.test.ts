// Times as text (P2).
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { toTimestampText } from '../../src/core/clock.ts'

test('an instant is written as Date writes it, whichever were written before', () => {
  const soon = Date.parse('2026-11-22T23:59:59.900Z')
  const whole = fc.oneof(
    fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 }),
    fc.integer({ min: soon - 300, max: soon + 300 }),
  )
  fc.assert(
    fc.property(fc.array(whole, { minLength: 1, maxLength: 300 }), (instants) => {
      for (const ms of instants) expect(toTimestampText(ms)).toBe(new Date(ms).toISOString())
    }),
  )
})

test('an invalid instant throws', () => {
  expect(() => toTimestampText(Number.NaN)).toThrow(RangeError)
  expect(() => toTimestampText(8_640_000_000_001_000)).toThrow(RangeError)
})
