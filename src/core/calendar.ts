// Days, ISO weeks and months of a named time zone. Days are `YYYY-MM-DD`, so that they sort as texts.

const dayMs = 86_400_000

/** Days of a time zone. */
export interface Calendar {
  /** The local date at an instant. */
  dayOf(ms: number): string
  /** The first instant of a day; of the next one where the zone has skipped it. */
  startOf(day: string): number
}

/** Days of a window, from its first one on, and when the next window begins. */
export interface Window {
  readonly firstDay: string
  readonly startsAtMs: number
  readonly renewsAtMs: number
}

/** The windows that an instant lies in. */
export type Windows = Readonly<Record<'daily' | 'weekly' | 'monthly', Window>>

const calendars = new Map<string, Calendar>()

/** Whether this is the name of a time zone, such as `Europe/Berlin`; an offset is none. */
export function isTimeZone(name: string): boolean {
  try {
    return /^[A-Za-z]/.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }).format(0) !== ''
  } catch {
    return false
  }
}

/** The calendar of a time zone. @throws RangeError when there is no such zone */
export function calendarOf(timeZone: string): Calendar {
  const known = calendars.get(timeZone)
  if (known !== undefined) return known
  const made = createCalendar(timeZone)
  calendars.set(timeZone, made)
  return made
}

function createCalendar(timeZone: string): Calendar {
  const fields = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
  const format = new Intl.DateTimeFormat('en', { timeZone, calendar: 'iso8601', numberingSystem: 'latn', ...fields })
  let known = { day: '', fromMs: 0, toMs: 0 }

  function readDay(ms: number): string {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
    return `${parts.get('year')?.padStart(4, '0')}-${parts.get('month')}-${parts.get('day')}`
  }

  function startOf(day: string): number {
    // No zone is further from UTC than this, and clocks are moved by whole seconds.
    let before = Date.parse(day) - 1.5 * dayMs
    let after = Date.parse(day) + 1.5 * dayMs
    while (after - before > 1000) {
      const middle = Math.floor((before + after) / 2000) * 1000
      if (readDay(middle) >= day) after = middle
      else before = middle
    }
    return after
  }

  return {
    dayOf(ms) {
      // Reading a date takes microseconds, and nearly every start is on the day of the one before.
      if (ms >= known.fromMs && ms < known.toMs) return known.day
      const day = readDay(ms)
      known = { day, fromMs: ms, toMs: startOf(addDays(day, 1)) }
      return day
    },
    startOf,
  }
}

/** The windows of limits that an instant lies in: its day, its ISO week, which begins on Monday, and its month. */
export function windowsAt(calendar: Calendar, ms: number): Windows {
  const today = calendar.dayOf(ms)
  const monday = addDays(today, -((new Date(today).getUTCDay() + 6) % 7))
  const first = `${today.slice(0, 7)}-01`
  const next = `${addDays(first, 31).slice(0, 7)}-01`
  const toWindow = (firstDay: string, nextDay: string): Window => ({
    firstDay,
    startsAtMs: calendar.startOf(firstDay),
    renewsAtMs: calendar.startOf(nextDay),
  })
  return {
    daily: toWindow(today, addDays(today, 1)),
    weekly: toWindow(monday, addDays(monday, 7)),
    monthly: toWindow(first, next),
  }
}

function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10)
}
