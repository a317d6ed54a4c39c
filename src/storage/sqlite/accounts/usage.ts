// Usage of accounts. Triggers write it. It is read in pieces, so that it delays no other list, however many labels there are.
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  labelOf,
  mostUsageSums,
  type UsageGroup,
  type UsagePage,
  type UsageRequest,
} from '../../../core/credits/usage.ts'
import { type Labels, parseLabels } from '../../../core/jobs/labels.ts'
import { mostListMs } from '../../search.ts'
import { toUsageColumn, toUsagePage } from '../../usage.ts'
import type { Connection } from '../connection.ts'

const pieceRows = 500
// Days are digits.
const afterAllDays = '~'

type Row = Readonly<Record<'account_id' | 'day' | 'model' | 'key_id' | 'labels', string>> & Sum
interface Sum {
  jobs: number
  succeeded: number
  charged: number
}
type NamedSum = Sum & { readonly values: readonly (string | null)[] }

export function createUsageReads(db: Connection) {
  const select = 'SELECT account_id, day, model, key_id, labels, jobs, succeeded, charged FROM usage WHERE'
  const ofAll = db.prepare<[object], Row>(`${select}
    (account_id, day, model, key_id, labels) > (:account_id, :day, :model, :key_id, :labels)
    ORDER BY account_id, day, model, key_id, labels LIMIT ${pieceRows}`)
  const ofOne = db.prepare<[object], Row>(`${select}
    account_id = :account_id AND (day, model, key_id, labels) > (:day, :model, :key_id, :labels)
    ORDER BY day, model, key_id, labels LIMIT ${pieceRows}`)
  const names = {
    key_id: db.prepare<[unknown], string>('SELECT name FROM api_keys WHERE key_id = ?').pluck(),
    account_id: db.prepare<[unknown], string>('SELECT name FROM accounts WHERE account_id = ?').pluck(),
  }

  return {
    /** What is wrong with it in place of a page. */
    async listUsage(request: UsageRequest): Promise<UsagePage | 'too_slow' | 'too_many'> {
      const { accountId, from, to, groups, limit, offset } = request
      const endAt = performance.now() + mostListMs
      const sums = new Map<string, NamedSum>()
      const all: Sum = { jobs: 0, succeeded: 0, charged: 0 }
      const statement = accountId === null ? ofAll : ofOne
      let last: object = { account_id: accountId ?? '', day: from, model: '', key_id: '', labels: '' }
      for (;;) {
        const rows = statement.all(last)
        for (const row of rows) if (row.day >= from && row.day <= to) addTo([findSum(sums, groups, row), all], row)
        const end = rows.at(-1)
        if (end === undefined || rows.length < pieceRows || (accountId !== null && end.day > to)) break
        // Days that nobody asks for are left out.
        const start = { day: from, model: '', key_id: '', labels: '' }
        last = end.day > to ? { ...end, day: afterAllDays } : end.day < from ? { ...end, ...start } : end
        if (performance.now() > endAt) return 'too_slow'
        if (sums.size > mostUsageSums) return 'too_many'
        await nextTurn()
      }
      const totals = { total: sums.size, all_jobs: all.jobs, all_succeeded: all.succeeded, all_charged: all.charged }
      const page = [...sums.values()].toSorted(orderOf(groups)).slice(offset, offset + limit)
      if (page.length === 0) return toUsagePage(groups, [{ jobs: null, ...totals }])
      const rows = page.map(({ values, ...sum }) => {
        const row = Object.fromEntries(
          groups.map((group, index) => [toUsageColumn(group, index), values[index] ?? null]),
        )
        const keyName = names.key_id.get(row['key_id']) ?? null
        return {
          ...row,
          ...sum,
          ...totals,
          key_name: keyName,
          account_name: names.account_id.get(row['account_id']) ?? null,
        }
      })
      return toUsagePage(groups, rows)
    },
  }
}

function findSum(sums: Map<string, NamedSum>, groups: readonly UsageGroup[], row: Row): Sum {
  const labels = groups.some((group) => labelOf(group) !== null) ? parseLabels(row.labels) : {}
  const values = groups.map((group) => readGroup(group, row, labels))
  const key = JSON.stringify(values)
  const known = sums.get(key) ?? { values, jobs: 0, succeeded: 0, charged: 0 }
  sums.set(key, known)
  return known
}

function readGroup(group: UsageGroup, row: Row, labels: Labels): string | null {
  const label = labelOf(group)
  if (label !== null) return Object.hasOwn(labels, label) ? (labels[label] ?? null) : null
  return row[toUsageColumn(group, 0) as 'account_id' | 'day' | 'model' | 'key_id']
}

function addTo(sums: readonly Sum[], { jobs, succeeded, charged }: Sum): void {
  for (const sum of sums) {
    sum.jobs += jobs
    sum.succeeded += succeeded
    sum.charged += charged
  }
}

/** By day, then the most expensive first, then by the other values. */
function orderOf(groups: readonly UsageGroup[]) {
  const day = groups.indexOf('day')
  const compare = (a: string | null | undefined, b: string | null | undefined): number =>
    (a ?? '') < (b ?? '') ? -1 : (a ?? '') > (b ?? '') ? 1 : 0
  return (a: NamedSum, b: NamedSum): number => {
    const byDay = day === -1 ? 0 : compare(a.values[day], b.values[day])
    if (byDay !== 0 || a.charged !== b.charged) return byDay || b.charged - a.charged
    for (const [index, value] of a.values.entries()) {
      const order = compare(value, b.values[index])
      if (order !== 0) return order
    }
    return 0
  }
}
