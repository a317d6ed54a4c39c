// Days, months and the scales of charts on the pages of the account.
import { expect, test } from 'vitest'
import { addMonths, daysOf, nameMonth } from '../../web/account/month-chooser.ts'
import { addMoney, formatMoney } from '../../web/account/usage-chart.ts'
import { findTop } from '../../web/chart.ts'
import { readDay } from '../../web/date-field.ts'
import { describeAge } from '../../web/moment.ts'

test('a day is read only as the calendar has it, year first', () => {
  expect(['2026-12-31', ' 2026-1-5 ', '2028-02-29'].map(readDay)).toEqual(['2026-12-31', '2026-01-05', '2028-02-29'])
  for (const wrong of ['', '12/31/2026', '31.12.2026', '2026-02-29', '2026-13-01', '2026-00-10', '26-01-01'])
    expect(readDay(wrong)).toBeNull()
})

test('months follow each other over the end of a year, with all of their days', () => {
  expect([addMonths('2026-12', 1), addMonths('2026-01', -1), addMonths('2026-03', -14)]).toEqual([
    '2027-01',
    '2025-12',
    '2025-01',
  ])
  expect([daysOf('2028-02').length, daysOf('2026-02').at(-1), nameMonth('2026-11')]).toEqual([
    29,
    '2026-02-28',
    'November 2026',
  ])
})

test('the top of a chart is a round number that has a half, not below the value', () => {
  expect([0, 1, 2, 3, 10, 11, 95, 101].map(findTop)).toEqual([2, 2, 2, 4, 10, 20, 100, 200])
})

test('money is added with its digits, and written as its currency is', () => {
  const [one, two] = [
    { amount: '0.10', currency: 'EUR' },
    { amount: '0.20', currency: 'EUR' },
  ]
  expect(addMoney([one, two, null])).toEqual({ amount: '0.30', currency: 'EUR' })
  expect([
    addMoney([null]),
    formatMoney(null),
    formatMoney(one),
    formatMoney({ amount: '3', currency: 'points' }),
  ]).toEqual([null, null, '€0.10', '3 points'])
})

test('an age is said within a day, before and after', () => {
  const hour = 3_600_000
  expect([0, -90_000, -2 * hour, 90_000, 3 * hour, -25 * hour].map((offset) => describeAge(offset, 0))).toEqual([
    'just now',
    '1 min ago',
    '2 h ago',
    'in 1 min',
    'in 3 h',
    null,
  ])
})
