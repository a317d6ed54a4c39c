// Days, ISO weeks and months of a named time zone. Days are `YYYY-MM-DD`, so that they sort as texts.

const dayMs = 86_400_000

/** Days of a time zone. */
export interface Calendar {
  /** The local date at an instant. */
  dayOf(ms: number): string
  /** The windows that an instant lies in: its day, its ISO week, which begins on Monday, and its month. */
  windowsAt(ms: number): Windows
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

  function readDay(ms: number): string {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
    return `${parts.get('year')?.padStart(4, '0')}-${parts.get('month')}-${parts.get('day')}`
  }

  /** The first instant of a day; of the next one where the zone has skipped it. */
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

  function readWindows(today: string): Windows {
    const monday = addDays(today, -((new Date(today).getUTCDay() + 6) % 7))
    const first = `${today.slice(0, 7)}-01`
    const next = `${addDays(first, 31).slice(0, 7)}-01`
    const toWindow = (firstDay: string, nextDay: string): Window => ({
      firstDay,
      startsAtMs: startOf(firstDay),
      renewsAtMs: startOf(nextDay),
    })
    return {
      daily: toWindow(today, addDays(today, 1)),
      weekly: toWindow(monday, addDays(monday, 7)),
      monthly: toWindow(first, next),
    }
  }

  // Nearly every start is on the day of the one before, and finding the windows of a day takes a millisecond.
  let latest = readWindows(readDay(0))

  function windowsAt(ms: number): Windows {
    const { startsAtMs, renewsAtMs } = latest.daily
    if (ms < startsAtMs || ms >= renewsAtMs) latest = readWindows(readDay(ms))
    return latest
  }

  return { windowsAt, dayOf: (ms) => windowsAt(ms).daily.firstDay }
}

function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10)
}
