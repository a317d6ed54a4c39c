// The end of a model: from which moment it makes nothing any more, and the notice before it.

const dayMs = 86_400_000
/** How long before its end a model counts as deprecated, in days. */
export const noticeDays = 60

/** How long a model lives, as its entry says. */
export interface Lifetime {
  /** Which version of the model this is; null if nobody says. */
  readonly version: string | null
  /** The day on which that version came out, `YYYY-MM-DD`; null if nobody says. */
  readonly released: string | null
  /** The day, `YYYY-MM-DD` in UTC, from whose beginning on it makes nothing any more; null for none. */
  readonly shutdownDate: string | null
  /** Id of the model to use instead; null for none. */
  readonly replacedBy: string | null
}

/** An end that is near or over. */
export interface ModelEnd {
  /** When the notice began, in milliseconds since 1970. */
  readonly deprecatedAtMs: number
  /** When it makes nothing any more: midnight of its day in UTC, in milliseconds since 1970. */
  readonly shutdownAtMs: number
  readonly isOver: boolean
  /** Id of the model to use instead; null for none. */
  readonly replacedBy: string | null
}

/** The end of a model, if it is over or at most `noticeDays` away; null otherwise. */
export function findEnd({ shutdownDate, replacedBy }: Lifetime, nowMs: number): ModelEnd | null {
  if (shutdownDate === null) return null
  const shutdownAtMs = Date.parse(`${shutdownDate}T00:00:00Z`)
  const deprecatedAtMs = shutdownAtMs - noticeDays * dayMs
  if (nowMs < deprecatedAtMs) return null
  return { deprecatedAtMs, shutdownAtMs, isOver: nowMs >= shutdownAtMs, replacedBy }
}

/** For example `ended on 2026-12-01; use acme/paint-2`. */
export function describeEnd({ shutdownAtMs, isOver, replacedBy }: ModelEnd): string {
  const day = new Date(shutdownAtMs).toISOString().slice(0, 10)
  return `${isOver ? 'ended' : 'ends'} on ${day}${replacedBy === null ? '' : `; use ${replacedBy}`}`
}
