// What keys may do and spend, in words.
import { formatCredits } from '../job-words.ts'
import { toDay } from '../moment.ts'
import type { KeyRecord, LimitsRecord, LimitStateRecord } from '../records.ts'

export type Permission = KeyRecord['permissions'][number]
export type CreditLimit = LimitStateRecord['limit']

/** What keys may do: in a list, and as a choice with what it means. */
export const rights: Readonly<
  Record<Permission, { readonly short: string; readonly label: string; readonly help: string }>
> = {
  generate: { short: 'generate', label: 'Generate', help: 'start, cancel and delete generations, upload files' },
  'models:read': { short: 'see models', label: 'See models', help: 'the catalog and its prices' },
  'jobs:read': { short: 'see generations', label: 'See generations', help: 'all of the account, with their files' },
  'wallet:read': {
    short: 'see credits and keys',
    label: 'See credits and keys',
    help: 'balance, usage, keys without their text',
  },
  webhooks: { short: 'manage webhooks', label: 'Manage webhooks', help: 'add, test and delete endpoints' },
  'keys:write': { short: 'make keys', label: 'Make keys', help: 'keys that may do no more than itself' },
  admin: { short: 'administer the server', label: 'Administer', help: 'every account of the server' },
}

/** The limits in credits, in the order in which they are shown. */
export const creditLimits: readonly (readonly [CreditLimit, string])[] = [
  ['per_start', 'One generation'],
  ['daily', 'A day'],
  ['weekly', 'A week'],
  ['monthly', 'A month'],
  ['total', 'In all'],
]

const limitWords: Readonly<Record<CreditLimit, string>> = {
  per_start: 'for one generation',
  daily: 'a day',
  weekly: 'a week',
  monthly: 'a month',
  total: 'in all',
}

export function describeRights(permissions: readonly Permission[]): string {
  return permissions.map((right) => rights[right]?.short ?? right).join(' · ')
}

/** "50 credits a day", "only https://shop.example"; none for a key without limits. */
export function describeLimits({ models, origins, extra, ...credits }: LimitsRecord): string[] {
  return [
    ...creditLimits.flatMap(([name]) => {
      const most = credits[name]
      return most === null ? [] : `${formatCredits(most)} ${limitWords[name]}`
    }),
    ...(extra ? [`${formatCredits(extra.credits)} extra until ${toDay(extra.until)}`] : []),
    ...(models.length > 0 ? [`only the models ${models.join(', ')}`] : []),
    ...(origins.length > 0 ? [`only on ${origins.join(', ')}`] : []),
  ]
}

export type KeyState = 'active' | 'expired' | 'revoked'

export function findState(
  { revoked_at, expires_at }: Pick<KeyRecord, 'revoked_at' | 'expires_at'>,
  nowMs: number,
): KeyState {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(expires_at) <= nowMs ? 'expired' : 'active'
}

/** What is left of a limit: "12 of 50 credits left a day". */
export function describeLeft({ of, limit, credits, left, renews_at }: LimitStateRecord): string {
  const whose = { key: '', maker: ' (of the key that made this one)', account: ' (of the account)' }[of]
  const renews = renews_at === null ? '' : `, more on ${toDay(renews_at)}`
  return `${left.toLocaleString('en-US')} of ${formatCredits(credits)} left ${limitWords[limit]}${whose}${renews}`
}
