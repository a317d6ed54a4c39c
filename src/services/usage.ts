// What an account used: the request, checked, and the rows as messages. docs/contract.md, section 1, Usage.
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { AccountUsageSchema } from '../../gen/mediagen/v1/admin_pb.ts'
import type { GetUsageRequest, UsageRowSchema, UsageSumSchema } from '../../gen/mediagen/v1/wallet_pb.ts'
import { type CreditPrice, costOf } from '../core/credits/price.ts'
import {
  allUsageFields,
  countDays,
  findGroupFault,
  isDay,
  mostUsageDays,
  mostUsageGroups,
  usageFields,
  type UsageGroup,
  type UsageRequest,
  type UsageRow,
  type UsageSum,
  usagePageBounds,
} from '../core/credits/usage.ts'
import type { Violation } from '../core/errors.ts'
import { readPage, refuse } from './calls/request.ts'

// In characters; names that are refused may be longer than groups have them.
const longestShownName = 80

type Asked = Pick<GetUsageRequest, 'from' | 'to' | 'groupBy' | 'limit' | 'offset'>

/**
 * Reads a request. What it does not name: the month up to its last day, or up to today; by day, or by account for an operator.
 * @throws MediagenError `invalid_request`
 */
export function readUsageRequest(
  request: Asked,
  today: string,
  usual: 'day' | 'account' = 'day',
): Omit<UsageRequest, 'accountId'> {
  const { groupBy } = request
  const fields = usual === 'account' ? allUsageFields : usageFields
  const to = request.to || today
  const from = request.from || `${to.slice(0, 7)}-01`
  refuse([...findRangeFaults(request, from, to), ...findGroupFaults(groupBy, fields)])
  return {
    ...readPage(request, usagePageBounds),
    from,
    to,
    groups: groupBy.length === 0 ? [usual] : (groupBy as UsageGroup[]),
  }
}

function findRangeFaults(request: Asked, from: string, to: string): Violation[] {
  const faults = (['from', 'to'] as const)
    .filter((name) => request[name] !== '' && !isDay(request[name]))
    .map((name) => ({ pointer: `/${name}`, detail: 'must be a day such as 2026-11-30' }))
  if (faults.length > 0) return faults
  if (from > to) return [{ pointer: '/from', detail: `must not be after the last day, ${to}` }]
  const days = countDays(from, to)
  if (days > mostUsageDays)
    return [{ pointer: '/from', detail: `must be at most ${mostUsageDays} days before the end of ${to}, not ${days}` }]
  return []
}

function findGroupFaults(names: readonly string[], fields: readonly string[]): Violation[] {
  const toViolation = (detail: string): Violation[] => [{ pointer: '/group_by', detail }]
  if (names.length > mostUsageGroups)
    return toViolation(`must be at most ${mostUsageGroups} groups, but has ${names.length}`)
  return names.flatMap((name, index) => {
    const fault = names.indexOf(name) < index ? 'must not be repeated' : findGroupFault(name, fields)
    return fault === null ? [] : toViolation(`has ${JSON.stringify(name.slice(0, longestShownName))}, which ${fault}`)
  })
}

export function toAccountUsageMessage(
  { accountId, accountName, ...row }: UsageRow,
  price: CreditPrice | null,
): MessageInitShape<typeof AccountUsageSchema> {
  return {
    ...(accountId !== null && { accountId }),
    ...(accountName !== null && { accountName }),
    usage: toUsageRowMessage(row, price),
  }
}

export function toUsageRowMessage(
  { day, model, keyId, keyName, labels, ...sum }: Omit<UsageRow, 'accountId' | 'accountName'>,
  price: CreditPrice | null,
): MessageInitShape<typeof UsageRowSchema> {
  return {
    ...(day !== null && { day }),
    ...(model !== null && { model }),
    ...(keyId !== null && { keyId }),
    ...(keyName !== null && { keyName }),
    labels,
    ...toUsageSumMessage(sum, price),
  }
}

export function toUsageSumMessage(
  { jobs, succeeded, charged }: UsageSum,
  price: CreditPrice | null,
): Omit<MessageInitShape<typeof UsageSumSchema>, '$typeName'> {
  return {
    jobs: BigInt(jobs),
    succeeded: BigInt(succeeded),
    charged: BigInt(charged),
    ...(price !== null && { cost: costOf(price, charged) }),
  }
}
