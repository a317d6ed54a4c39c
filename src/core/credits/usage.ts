// Usage of accounts: how many jobs ended, and what they were charged, by day, model, key and label. A job counts on the day of its
// start, as it does for limits; it counts when it has ended.
import { MediagenError } from '../errors.ts'
import { findLabelFault } from '../jobs/labels.ts'
import { type Page, pageBounds, type PageRequest } from '../page.ts'

/** What usage can be grouped by, besides labels. */
export const usageFields = ['day', 'model', 'key'] as const
/** The same for operators, who read the usage of all accounts. */
export const allUsageFields = ['account', ...usageFields] as const

/** A name of `allUsageFields`, or `label:` and the name of a label. */
export type UsageGroup = (typeof allUsageFields)[number] | `label:${string}`

/** How many groups a report may have. */
export const mostUsageGroups = 8
/** How many sums a report may have where they are made in memory. */
export const mostUsageSums = 200_000
/** How many days a report may have: a year. */
export const mostUsageDays = 366

/** A page may be larger than others: a row is short, and a report is often wanted whole. */
export const usagePageBounds = { ...pageBounds, largestLimit: 10_000 } as const

const labelPrefix = 'label:'
const dayMs = 86_400_000

/** Which usage is read. */
export interface UsageRequest extends PageRequest {
  /** Null for all accounts. */
  readonly accountId: string | null
  /** The first and the last day, `YYYY-MM-DD`. */
  readonly from: string
  readonly to: string
  /** Each once; at least one. */
  readonly groups: readonly UsageGroup[]
}

/** The refusal of a report with more sums than it may have. */
export function usageTooLarge(): MediagenError {
  return new MediagenError(
    'invalid_request',
    `This report has more than ${mostUsageSums} rows. Ask for fewer days (from, to), or leave out of group_by what is different for nearly every job.`,
  )
}

/** Jobs that have ended, and what they were charged. */
export interface UsageSum {
  readonly jobs: number
  readonly succeeded: number
  readonly charged: number
}

/** The sum of a group; what the usage is not grouped by is null. */
export interface UsageRow extends UsageSum {
  readonly accountId: string | null
  readonly accountName: string | null
  readonly day: string | null
  /** Empty for jobs that were forgotten before there was usage; so is the key where it is not known. */
  readonly model: string | null
  readonly keyId: string | null
  /** What its owner calls the key; null for nothing. */
  readonly keyName: string | null
  /** Those that it is grouped by; jobs without such a label have none. */
  readonly labels: Readonly<Record<string, string>>
}

/** Rows by day, then the most expensive first; `sum` is of all of them. */
export interface UsagePage extends Page<UsageRow> {
  readonly sum: UsageSum
}

/** The label of a group; null if it is a field. */
export function labelOf(group: UsageGroup): string | null {
  return group.startsWith(labelPrefix) ? group.slice(labelPrefix.length) : null
}

/** What is wrong with the name of a group, in words; null if nothing is. */
export function findGroupFault(name: string, fields: readonly string[] = usageFields): string | null {
  if (fields.includes(name)) return null
  if (!name.startsWith(labelPrefix)) return `must be ${fields.join(', ')}, or label: and the name of a label`
  return findLabelFault(name.slice(labelPrefix.length), 'any')
}

/** Whether this is a day of the calendar, `YYYY-MM-DD`. */
export function isDay(text: string): boolean {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)
}

/** Days from the first to the last, both counted. */
export function countDays(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / dayMs + 1
}
