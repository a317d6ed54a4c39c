// What limits allow, what is left of them, and what a key may give to a key that it makes (P226, P227, P230, P231, P235).
import { describe, expect, test } from 'vitest'
import {
  allowsModel,
  type Budget,
  findBeyond,
  findExceeded,
  inheritLimits,
  type Limits,
  limitStates,
  matchesModel,
  noLimits,
  parseLimits,
  toLimitsText,
  withHold,
} from '../../src/core/accounts/limits.ts'
import { calendarOf } from '../../src/core/calendar.ts'

const utc = calendarOf('UTC')
// A Friday.
const nowMs = Date.parse('2026-11-20T10:00:00Z')
const budget = (limits: Partial<Limits>, spent: Budget['spent'] = []): Budget => ({
  of: 'key',
  limits: { ...noLimits, ...limits },
  spent,
})

describe('patterns of models', () => {
  test.each([
    ['fal/flux', 'fal/flux', true],
    ['fal/flux', 'fal/flux/text-to-image', true],
    ['fal/flux', 'fal/flux-pro', false],
    ['fal/*', 'fal/flux/text-to-image', true],
    ['fal/*', 'fal', false],
    ['*', 'anything/at/all', true],
    ['*/text-to-image', 'fal/flux/text-to-image', true],
    ['a*b*c', 'axxbxxc', true],
    ['a*b*c', 'axxcxxb', false],
    ['fal.flux', 'fal/flux', false],
    ['ab*ba', 'aba', false],
  ])('%s for %s: %s', (pattern, model, expected) => {
    expect(matchesModel(pattern, model)).toBe(expected)
  })

  test('none allow every model', () => {
    expect(allowsModel([], 'x')).toBe(true)
    expect(allowsModel(['y', 'x'], 'x')).toBe(true)
    expect(allowsModel(['y'], 'x')).toBe(false)
  })
})

describe('what is left', () => {
  const spent = [
    { day: '', held: 100, charged: 1000 },
    { day: '2026-10-31', held: 0, charged: 50 },
    { day: '2026-11-02', held: 0, charged: 7 },
    { day: '2026-11-16', held: 1, charged: 20 },
    { day: '2026-11-20', held: 3, charged: 4 },
  ]

  test('held and charged count in the window of the start: day, week, month and all', () => {
    const all = budget({ perStart: 5, daily: 10, weekly: 30, monthly: 100, total: 1200 }, spent)
    const states = limitStates([all], nowMs, utc)
    expect(states.map(({ limit, held, charged, left }) => [limit, held, charged, left])).toEqual([
      ['per_start', 0, 0, 5],
      ['daily', 3, 4, 3],
      ['weekly', 4, 24, 2],
      ['monthly', 4, 31, 65],
      ['total', 100, 1000, 100],
    ])
    expect(states.map(({ renewsAtMs }) => renewsAtMs && new Date(renewsAtMs).toISOString().slice(0, 10))).toEqual([
      null,
      '2026-11-21',
      '2026-11-23',
      '2026-12-01',
      null,
    ])
  })

  test('the last whole start fits, and one credit more does not', () => {
    const daily = budget({ daily: 10 }, spent)
    expect(findExceeded([daily], 3, nowMs, utc)).toBeNull()
    expect(findExceeded([daily], 4, nowMs, utc)).toMatchObject({ of: 'key', limit: 'daily', credits: 10, left: 3 })
    expect(findExceeded([budget({ perStart: 3 })], 4, nowMs, utc)).toMatchObject({ limit: 'per_start', left: 3 })
    expect(findExceeded([budget({ daily: 0 })], 0, nowMs, utc)).toBeNull()
  })

  test('extra credits raise every window until their end, and not what one start may cost', () => {
    const extra = { credits: 5, untilMs: nowMs + 1 }
    const raised = budget({ perStart: 6, daily: 10, extra }, spent)
    expect(findExceeded([raised], 7, nowMs, utc)).toMatchObject({ limit: 'per_start' })
    expect(limitStates([raised], nowMs, utc)[1]).toMatchObject({ credits: 15, left: 8 })
    expect(limitStates([raised], nowMs + 1, utc)[1]).toMatchObject({ credits: 10, left: 3 })
  })

  test('a limit that was lowered below what is spent leaves nothing, and never less', () => {
    expect(limitStates([budget({ daily: 2 }, spent)], nowMs, utc)[0]).toMatchObject({ left: 0 })
  })

  test('a new window begins with nothing spent; when the clock goes back over its beginning, both count', () => {
    const tomorrow = nowMs + 86_400_000
    expect(limitStates([budget({ daily: 10 }, spent)], tomorrow, utc)[0]).toMatchObject({ left: 10 })
    const later = withHold(spent, '2026-11-21', 2)
    expect(limitStates([budget({ daily: 10 }, later)], nowMs, utc)[0]).toMatchObject({ held: 5, left: 1 })
  })
})

describe('a key that a key makes', () => {
  const maker: Limits = { ...noLimits, perStart: 10, daily: 100, models: ['fal/*'], origins: ['https://app.example'] }

  test('has the limits of its maker where it names none', () => {
    const extra = { credits: 9, untilMs: nowMs }
    expect(inheritLimits({ daily: 5 }, { ...maker, extra })).toEqual({ ...maker, daily: 5 })
  })

  test.each<[string, Partial<Limits>, string[]]>([
    ['less of everything', { perStart: 1, daily: 1, total: 5, models: ['fal/flux'] }, []],
    ['the same', {}, []],
    ['more in a day', { daily: 101 }, ['daily']],
    ['no limit where there is one', { perStart: null, daily: null }, ['per_start', 'daily']],
    ['other models', { models: ['fal/flux', 'acme/x'] }, ['models']],
    ['all models', { models: [] }, ['models']],
    ['a wider pattern', { models: ['fa*'] }, ['models']],
    ['another website', { origins: ['https://evil.example'] }, ['origins']],
    ['extra credits', { extra: { credits: 1, untilMs: nowMs } }, ['extra']],
  ])('%s', (_what, own, beyond) => {
    expect(findBeyond({ ...maker, ...own }, maker)).toEqual(beyond)
  })
})

test('limits are stored as what is limited', () => {
  expect(toLimitsText(noLimits)).toBeNull()
  expect(toLimitsText({ ...noLimits, daily: 0 })).toBe('{"daily":0}')
  const limits: Limits = { ...noLimits, total: 5, models: ['x'], extra: { credits: 1, untilMs: 2 } }
  expect(parseLimits(toLimitsText(limits))).toEqual(limits)
})
