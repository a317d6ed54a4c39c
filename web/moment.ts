// A time on the page: the day and the hour, and how long ago that is while that says more.
import { element } from './element.ts'

const dayMs = 86_400_000

/** "28 Nov 2026, 17:20", with "3 min ago" within a day. */
export function moment(at: string): HTMLElement {
  const age = describeAge(Date.parse(at), Date.now())
  return element(
    'time',
    { datetime: at, class: 'moment', title: at },
    toMinute(at),
    age === null ? null : element('span', { class: 'fine' }, ` ${age}`),
  )
}

/** "28 Nov 2026, 17:20" */
export function toMinute(at: string): string {
  return `${toDay(at)}, ${new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })}`
}

/** "28 Nov 2026" */
export function toDay(at: string): string {
  return new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
}

/** "3 min ago", "in 2 h"; null beyond a day. */
export function describeAge(atMs: number, nowMs: number): string | null {
  const span = Math.abs(nowMs - atMs)
  if (span >= dayMs) return null
  const minutes = Math.floor(span / 60_000)
  if (minutes < 1) return atMs > nowMs ? 'in a moment' : 'just now'
  const words = minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`
  return atMs > nowMs ? `in ${words}` : `${words} ago`
}
