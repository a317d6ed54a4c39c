// Chooses a month: one back, one on, up to the current one. Days are those of the server, written as it writes them.
import { button, element } from '../element.ts'

export interface MonthChooser {
  readonly element: HTMLElement
  /** Tells it which month is shown; the first one is the current one. */
  show(month: string): void
}

/** The first and the last day of a month such as `2026-11`. */
export function daysOf(month: string): string[] {
  const [year = 0, number = 0] = month.split('-').map(Number)
  const count = new Date(Date.UTC(year, number, 0)).getUTCDate()
  return Array.from({ length: count }, (_, index) => `${month}-${String(index + 1).padStart(2, '0')}`)
}

/** Another month: `2026-12` and 1 is `2027-01`. */
export function addMonths(month: string, count: number): string {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return new Date(Date.UTC(year, number - 1 + count, 1)).toISOString().slice(0, 7)
}

/** "November 2026" */
export function nameMonth(month: string): string {
  return new Date(`${month}-01T00:00:00Z`).toLocaleDateString('en-GB', {
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  })
}

/** "3 November" */
export function nameDay(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', { day: 'numeric', month: 'long', timeZone: 'UTC' })
}

/** `onChange` gets the month that the user chose. */
export function createMonthChooser(onChange: (month: string) => void): MonthChooser {
  let shown = ''
  let current = ''
  const look = { look: 'quiet square', wordless: true }
  const back = button('Month before', () => onChange(addMonths(shown, -1)), { icon: 'back', ...look })
  const next = button('Month after', () => onChange(addMonths(shown, 1)), { icon: 'next', ...look })
  const name = element('span', { class: 'month-name', role: 'status' })
  back.disabled = next.disabled = true
  return {
    element: element('div', { class: 'month-chooser', role: 'group', 'aria-label': 'Month' }, back, name, next),
    show(month) {
      current ||= month
      shown = month
      name.textContent = nameMonth(month)
      back.disabled = false
      next.disabled = month >= current
    },
  }
}
