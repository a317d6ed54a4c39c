// The limits of keys and accounts: what they may spend, on which models. docs/contract.md, section 2.
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type { Calendar } from '../calendar.ts'
import { toTimestampText } from '../clock.ts'

/** Limits that count what was spent, by the window that they count. */
export const windowLimits = ['daily', 'weekly', 'monthly', 'total'] as const
export type WindowLimit = (typeof windowLimits)[number]
export type LimitName = 'per_start' | WindowLimit

/** What a key or an account may spend, in credits; null for no limit. */
export interface Limits extends Readonly<Record<WindowLimit, number | null>> {
  readonly perStart: number | null
  /** Models by id: `fal/flux` is that model and all below it, `*` stands for any characters. Empty for every model. */
  readonly models: readonly string[]
  /** Origins of websites that may use the key. Empty for all that the server allows. */
  readonly origins: readonly string[]
  /** More credits for every window, until an instant. */
  readonly extra: { readonly credits: number; readonly untilMs: number } | null
}

/** The names of limits as clients know them, and the fields that they are. */
export const limitFields = {
  per_start: 'perStart',
  daily: 'daily',
  weekly: 'weekly',
  monthly: 'monthly',
  total: 'total',
  models: 'models',
  origins: 'origins',
  extra: 'extra',
} as const satisfies Record<string, keyof Limits>

export const noLimits: Limits = {
  perStart: null,
  daily: null,
  weekly: null,
  monthly: null,
  total: null,
  models: [],
  origins: [],
  extra: null,
}

/** What was spent on one day by the jobs that were started on it; the empty day stands for all days together. */
export interface DaySpending {
  readonly day: string
  /** Held by those that have not ended. */
  readonly held: number
  readonly charged: number
}

/** Whose limits apply to a start: the key's, those of the key that made it, and those of the account. */
export type LimitOwner = 'key' | 'maker' | 'account'

/** The limits of one of them, and what counts against them. */
export interface Budget {
  readonly of: LimitOwner
  readonly limits: Limits
  readonly spent: readonly DaySpending[]
}

/** One limit and what is left of it, in credits. */
export interface LimitState {
  readonly of: LimitOwner
  readonly limit: LimitName
  readonly credits: number
  readonly held: number
  readonly charged: number
  readonly left: number
  /** When its window began and when the next one does; null where it has none. */
  readonly startsAtMs: number | null
  readonly renewsAtMs: number | null
}

/** Whether what was spent matters to a limit. */
export function countsSpending(limits: Limits): boolean {
  return windowLimits.some((name) => limits[name] !== null)
}

/** Whether anything limits credits. */
export function limitsCredits(limits: Limits): boolean {
  return limits.perStart !== null || countsSpending(limits)
}

/** Every limit in credits, and what is left of it. */
export function limitStates(budgets: readonly Budget[], nowMs: number, calendar: Calendar): LimitState[] {
  return budgets.flatMap((budget) => [...perStartState(budget), ...windowStates(budget, nowMs, calendar)])
}

/** The first limit that a start would exceed; null if none. */
export function findExceeded(
  budgets: readonly Budget[],
  credits: number,
  nowMs: number,
  calendar: Calendar,
): LimitState | null {
  return limitStates(budgets, nowMs, calendar).find(({ left }) => credits > left) ?? null
}

function perStartState({ of, limits: { perStart } }: Budget): LimitState[] {
  if (perStart === null) return []
  const none = { held: 0, charged: 0, startsAtMs: null, renewsAtMs: null }
  return [{ of, limit: 'per_start', credits: perStart, left: perStart, ...none }]
}

function windowStates({ of, limits, spent }: Budget, nowMs: number, calendar: Calendar): LimitState[] {
  if (!countsSpending(limits)) return []
  const windows = calendar.windowsAt(nowMs)
  const { extra } = limits
  const more = extra !== null && nowMs < extra.untilMs ? extra.credits : 0
  return windowLimits.flatMap((limit) => {
    const own = limits[limit]
    if (own === null) return []
    const window = limit === 'total' ? null : windows[limit]
    // The clock may have gone back over the end of a window: what was spent later counts in it.
    const days = spent.filter(({ day }) => (window === null ? day === '' : day >= window.firstDay))
    const held = days.reduce((sum, day) => sum + day.held, 0)
    const charged = days.reduce((sum, day) => sum + day.charged, 0)
    const credits = own + more
    const left = Math.max(0, credits - held - charged)
    const times = { startsAtMs: window?.startsAtMs ?? null, renewsAtMs: window?.renewsAtMs ?? null }
    return [{ of, limit, credits, held, charged, left, ...times }]
  })
}

/** What was spent, after a job of this day has held credits. */
export function withHold(spent: readonly DaySpending[], day: string, credits: number): DaySpending[] {
  const days = new Map(spent.map((one) => [one.day, one]))
  for (const each of [day, '']) {
    const { held, charged } = days.get(each) ?? { held: 0, charged: 0 }
    days.set(each, { day: each, held: held + credits, charged })
  }
  return [...days.values()]
}

/** Whether patterns allow a model. */
export function allowsModel(patterns: readonly string[], model: string): boolean {
  return patterns.length === 0 || patterns.some((pattern) => matchesModel(pattern, model))
}

/** Whether a pattern names a model, or something that the model is below. */
export function matchesModel(pattern: string, model: string): boolean {
  return matches(pattern, model) || matches(`${pattern}/*`, model)
}

function matches(pattern: string, text: string): boolean {
  const [first = '', ...others] = pattern.split('*')
  const last = others.pop()
  if (last === undefined) return text === pattern
  if (!text.startsWith(first)) return false
  let end = first.length
  for (const part of others) {
    const found = text.indexOf(part, end)
    if (found < 0) return false
    end = found + part.length
  }
  return text.length - last.length >= end && text.endsWith(last)
}

/** Limits of a key that it would have beyond its maker's, by the names of their fields. */
export function findBeyond(limits: Limits, maker: Limits): string[] {
  const more = (own: number | null, most: number | null): boolean => most !== null && (own === null || own > most)
  return [
    ...(more(limits.perStart, maker.perStart) ? ['per_start'] : []),
    ...windowLimits.filter((name) => more(limits[name], maker[name])),
    ...(isWithin(limits.models, maker.models, matchesModel) ? [] : ['models']),
    ...(isWithin(limits.origins, maker.origins, (most, own) => most === own) ? [] : ['origins']),
    ...(limits.extra === null ? [] : ['extra']),
  ]
}

/** Whether each of `own` lies within one of `most`; both are without limit when they are empty. */
function isWithin(
  own: readonly string[],
  most: readonly string[],
  covers: (most: string, own: string) => boolean,
): boolean {
  if (most.length === 0) return true
  return own.length > 0 && own.every((each) => most.some((one) => covers(one, each)))
}

/** The limits of a key that says nothing of some: those of its maker. */
export function inheritLimits(given: Partial<Limits>, maker: Limits): Limits {
  return { ...noLimits, ...maker, extra: null, ...given }
}

/** What is limited, by the names that clients know; null for no limit. */
export function describeLimits({ perStart, extra, ...others }: Limits): JsonObject | null {
  const named = {
    per_start: perStart,
    ...others,
    extra: extra && { credits: extra.credits, until: toTimestampText(extra.untilMs) },
  }
  const set = Object.entries(named).filter(([, value]) => isLimit(value))
  return set.length === 0 ? null : (Object.fromEntries(set) as JsonObject)
}

function isLimit(value: unknown): boolean {
  return value !== null && !(Array.isArray(value) && value.length === 0)
}

/** The stored form: JSON of what is limited; null for no limit. */
export function toLimitsText(limits: Limits): string | null {
  const set = Object.entries(limits).filter(([, value]) => isLimit(value))
  return set.length === 0 ? null : JSON.stringify(Object.fromEntries(set))
}

export function parseLimits(text: string | null): Limits {
  return text === null ? noLimits : { ...noLimits, ...(JSON.parse(text) as Partial<Limits>) }
}
