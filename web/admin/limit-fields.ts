// Limits of keys and accounts: in words, and as fields.
import { create } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { type ExtraCredits, ExtraCreditsSchema, type Limits, LimitsSchema } from '../../gen/mediagen/v1/limits_pb.ts'
import { element } from '../element.ts'
import { creditsField, type Field, momentField, textField } from './fields.ts'
import { formatNumber, formatTime } from './words.ts'

const windows = [
  ['monthly', 'a month'],
  ['weekly', 'a week'],
  ['daily', 'a day'],
  ['total', 'in all'],
  ['perStart', 'a start'],
] as const

/** Limits in a few words; a note if there are none. */
export function describeLimits(limits: Limits | undefined): Node[] {
  if (!limits) return [element('span', { class: 'soft' }, 'none')]
  const { models, origins, extra } = limits
  const words = windows.flatMap(([name, per]) => {
    const credits = limits[name]
    return credits === undefined ? [] : `${formatNumber(credits)} ${per}`
  })
  if (extra?.until) words.push(`${formatNumber(extra.credits)} more until ${formatTime(extra.until)}`)
  if (models.length > 0) words.push(`only ${models.join(', ')}`)
  if (origins.length > 0) words.push(`only from ${origins.join(', ')}`)
  if (words.length === 0) return [element('span', { class: 'soft' }, 'none')]
  return words.map((one) => element('span', { class: 'limit' }, one))
}

/** Fields for all limits, and what they say. */
export interface LimitFields {
  readonly fields: readonly Pick<Field<unknown>, 'element'>[]
  /** The limits; those that are left empty are unset. @throws WrongField */
  read(): Limits
}

/** Every limit, as an update names them. */
export const allLimits = ['per_start', 'daily', 'weekly', 'monthly', 'total', 'models', 'origins', 'extra']

const largest = 2n ** 53n - 1n
const toLines = (text: string): string[] => text.split(/[\s,]+/).filter((one) => one !== '')

/** Creates the fields. `of` is what they limit: "the key", "the account". */
export function limitFields(of: string, limits?: Limits): LimitFields {
  const credits = (label: string, value: bigint | undefined): Field<bigint | undefined> =>
    creditsField({ label, value, optional: true, most: largest })
  const monthly = credits('Credits a month', limits?.monthly)
  const weekly = credits('Credits a week', limits?.weekly)
  const daily = credits('Credits a day', limits?.daily)
  const total = credits('Credits in all', limits?.total)
  const perStart = credits('Credits a start', limits?.perStart)
  const models = textField({
    label: 'Only these models',
    value: limits?.models.join('\n') ?? '',
    lines: 2,
    optional: true,
    most: 20_000,
    help: `Ids, one a line; fal/flux is that model and all below it, * stands for any characters. Empty: ${of} may start every model.`,
  })
  const origins = textField({
    label: 'Only from these websites',
    value: limits?.origins.join('\n') ?? '',
    lines: 2,
    optional: true,
    most: 20_000,
    help: 'As https://app.example, one a line; for a key in the scripts of a website.',
  })
  // What is over is not shown: saved again it would be refused.
  const raise = limits?.extra?.until && timestampMs(limits.extra.until) > Date.now() ? limits.extra : undefined
  const extra = credits('Extra credits in each window', raise?.credits)
  const until = momentField({ label: 'Extra credits until', value: raise?.until })
  const readExtra = (): ExtraCredits | undefined => {
    const [more, end] = [extra.read(), until.read()]
    if (more === undefined && end === undefined) return undefined
    return create(ExtraCreditsSchema, { credits: more ?? 0n, ...(end && { until: end }) })
  }
  const half = (...pair: readonly Field<unknown>[]): HTMLElement =>
    element('div', { class: 'field-pair' }, ...pair.map((one) => one.element))
  const hasMore = Boolean(limits && (limits.origins.length > 0 || limits.models.length > 0 || raise))
  const more = element(
    'details',
    { class: 'more-fields', open: hasMore },
    element('summary', {}, 'Models, websites, extra credits'),
    models.element,
    origins.element,
    half(extra, until),
  )
  return {
    fields: [
      { element: half(monthly, weekly) },
      { element: half(daily, total) },
      { element: half(perStart) },
      { element: more },
    ],
    read() {
      const numbers = {
        monthly: monthly.read(),
        weekly: weekly.read(),
        daily: daily.read(),
        total: total.read(),
        perStart: perStart.read(),
      }
      // What is wrong in there must be seen.
      if (!more.open) more.open = Boolean(extra.element.querySelector('input')?.value)
      const extraCredits = readExtra()
      return create(LimitsSchema, {
        ...Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== undefined)),
        models: toLines(models.read()),
        origins: toLines(origins.read()),
        ...(extraCredits && { extra: extraCredits }),
      })
    },
  }
}
