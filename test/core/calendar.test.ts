// Days, weeks and months of time zones, where clocks are moved (P227).
import { describe, expect, test } from 'vitest'
import { calendarOf, isTimeZone } from '../../src/core/calendar.ts'

const at = (time: string): number => Date.parse(time)
const toTime = (ms: number): string => new Date(ms).toISOString()
const hourMs = 3_600_000

describe('a day', () => {
  test.each([
    ['an ordinary one', 'Europe/Berlin', '2026-01-15T11:00:00Z', '2026-01-15', 24],
    ['of 23 hours', 'Europe/Berlin', '2026-03-29T11:00:00Z', '2026-03-29', 23],
    ['of 25 hours', 'Europe/Berlin', '2026-10-25T11:00:00Z', '2026-10-25', 25],
    ['of 23 hours that begins at one', 'America/Santiago', '2026-09-06T12:00:00Z', '2026-09-06', 23],
    ['of 25 hours that ends twice', 'America/Santiago', '2026-04-04T12:00:00Z', '2026-04-04', 25],
    ['in a zone of half hours', 'Australia/Lord_Howe', '2026-04-05T00:00:00Z', '2026-04-05', 24.5],
    ['far in the east', 'Pacific/Kiritimati', '2026-01-15T11:00:00Z', '2026-01-16', 24],
  ])('%s', (_what, zone, time, day, hours) => {
    const calendar = calendarOf(zone)
    expect(calendar.dayOf(at(time))).toBe(day)
    const { daily } = calendar.windowsAt(at(time))
    expect(daily.firstDay).toBe(day)
    expect((daily.renewsAtMs - daily.startsAtMs) / hourMs).toBe(hours)
    // Its first and last millisecond are in it, and their neighbours are not.
    const days = [-1, 0].flatMap((by) => [daily.startsAtMs + by, daily.renewsAtMs + by]).map(calendar.dayOf)
    expect([days[1] === day, days[2] === day, days[0] === day, days[3] === day]).toEqual([true, true, false, false])
  })

  test('that a zone skips: the day before lasts until the one after', () => {
    const apia = calendarOf('Pacific/Apia')
    const { daily } = apia.windowsAt(at('2011-12-30T05:00:00Z'))
    expect(daily.firstDay).toBe('2011-12-29')
    expect(toTime(daily.renewsAtMs)).toBe('2011-12-30T10:00:00.000Z')
    expect(apia.dayOf(daily.renewsAtMs)).toBe('2011-12-31')
  })
})

test('a week begins on Monday, also over the end of a year, and a month on its first day', () => {
  const utc = calendarOf('UTC')
  const newYear = utc.windowsAt(at('2027-01-01T12:00:00Z'))
  expect(newYear.weekly).toEqual({
    firstDay: '2026-12-28',
    startsAtMs: at('2026-12-28T00:00:00Z'),
    renewsAtMs: at('2027-01-04T00:00:00Z'),
  })
  const sunday = utc.windowsAt(at('2026-11-29T23:59:59Z'))
  expect(sunday.weekly.firstDay).toBe('2026-11-23')
  expect(toTime(utc.windowsAt(at('2028-02-29T00:00:00Z')).monthly.renewsAtMs)).toBe('2028-03-01T00:00:00.000Z')
  expect(toTime(utc.windowsAt(at('2026-12-31T00:00:00Z')).monthly.renewsAtMs)).toBe('2027-01-01T00:00:00.000Z')
})

test('the same instant is on other days in other zones', () => {
  const instant = at('2026-11-20T23:30:00Z')
  const days = ['Pacific/Pago_Pago', 'UTC', 'Asia/Tokyo'].map((zone) => calendarOf(zone).dayOf(instant))
  expect(days).toEqual(['2026-11-20', '2026-11-20', '2026-11-21'])
})

test('zones have names; offsets and nonsense are none', () => {
  expect(['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires'].every(isTimeZone)).toBe(true)
  expect(['', '+01:00', 'Europe/Atlantis', '../etc', 'Europe/Berlin\n'].some(isTimeZone)).toBe(false)
})
