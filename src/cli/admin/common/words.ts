// Words of operators' commands: accounts, credits, limits, sizes.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Account, Key } from '../../../../gen/mediagen/v1/admin_pb.ts'
import type { Limits } from '../../../../gen/mediagen/v1/limits_pb.ts'
import { escapeHidden } from '../../../core/text/hidden-characters.ts'

const numbers = new Intl.NumberFormat('en')
const windows = { perStart: 'a start', daily: 'a day', weekly: 'a week', monthly: 'a month', total: 'in all' } as const
const units = ['bytes', 'kB', 'MB', 'GB', 'TB']

/** `1 credit`, `1,500 credits`. */
export function countAll(count: number | bigint, one: string, several = `${one}s`): string {
  return `${numbers.format(count)} ${BigInt(count) === 1n ? one : several}`
}

/** `1,500`. */
export function toNumber(count: number | bigint): string {
  return numbers.format(count)
}

/** `Press office (acct_…)`. */
export function nameAccount(account: Account | undefined): string {
  return account ? `${escapeHidden(account.name)} (${account.accountId})` : 'the account'
}

/** `“print shop” (key_…)`, or its id alone. */
export function nameKey(key: Key | undefined): string {
  return key?.name ? `“${escapeHidden(key.name)}” (${key.keyId})` : (key?.keyId ?? 'the key')
}

/** `200 a day, 50 in all; models acme/*`; empty for no limits. */
export function describeLimits(limits: Limits | undefined): string {
  if (!limits) return ''
  const credits = Object.entries(windows).flatMap(([name, window]) => {
    const limit = limits[name as keyof typeof windows]
    return limit === undefined ? [] : [`${toNumber(limit)} ${window}`]
  })
  const { models, origins, extra } = limits
  const until = extra?.until && new Date(timestampMs(extra.until)).toISOString()
  return [
    credits.join(', '),
    extra ? `${toNumber(extra.credits)} more until ${until}` : '',
    models.length > 0 ? `models ${models.map(escapeHidden).join(', ')}` : '',
    origins.length > 0 ? `websites ${origins.map(escapeHidden).join(', ')}` : '',
  ]
    .filter(Boolean)
    .join('; ')
}

/** `1.2 MB`. */
export function toSize(bytes: number | bigint): string {
  const unit = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Number(bytes) || 1) / 3)))
  const value = Number(bytes) / 1000 ** unit
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}
