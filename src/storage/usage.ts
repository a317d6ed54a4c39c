// How usage is read: by PostgreSQL in one statement, so that a page and the sum of all rows are of the same moment.
import { labelOf, type UsageGroup, type UsagePage, type UsageRequest } from '../core/credits/usage.ts'

/** A row of the page; only the sum of all rows if `jobs` is null. */
type Row = Readonly<Record<string, string | number | null>>

/** Values of the statement, by name; `label0`, `label1`, … are names of labels. */
export type UsageValues = Readonly<Record<string, string | number | null>>

/**
 * The statement, and its values.
 * @param readLabel reads the label whose name is a value of this name
 */
export function selectUsage(
  { groups, ...values }: UsageRequest,
  readLabel: (name: string) => string,
): { sql: string; values: UsageValues } {
  const columns = groups.map(toUsageColumn)
  const selected = columns.map((column) => (column.startsWith('label') ? `${readLabel(column)} AS ${column}` : column))
  const others = columns.filter((column) => column !== 'day').map((column) => `coalesce(${column}, '')`)
  const order = [...columns.filter((column) => column === 'day'), 'charged DESC', ...others].join(', ')
  const keyName = columns.includes('key_id')
    ? '(SELECT name FROM api_keys AS k WHERE k.key_id = p.key_id) AS key_name,'
    : ''
  const accountName = columns.includes('account_id')
    ? '(SELECT name FROM accounts AS a WHERE a.account_id = p.account_id) AS account_name,'
    : ''
  const whose = values.accountId === null ? 'TRUE' : 'account_id = :accountId'
  const labels = groups.flatMap((group, index) => {
    const label = labelOf(group)
    return label === null ? [] : [[`label${index}`, label]]
  })
  const sql = `
    WITH grouped AS MATERIALIZED (
      SELECT ${selected.join(', ')}, ${sum('jobs')}, ${sum('succeeded')}, ${sum('charged')}
      FROM usage WHERE ${whose} AND day BETWEEN :from AND :to GROUP BY ${columns.join(', ')}
    )
    SELECT p.*, ${keyName} ${accountName} t.*
    FROM (SELECT count(*) AS total, ${sum('jobs', 'all_jobs')}, ${sum('succeeded', 'all_succeeded')}, ${sum('charged', 'all_charged')} FROM grouped) AS t
    LEFT JOIN (SELECT * FROM grouped ORDER BY ${order} LIMIT :limit OFFSET :offset) AS p ON TRUE ORDER BY ${order}`
  return { sql, values: { ...values, ...Object.fromEntries(labels) } }
}

/** The page that rows of this statement make. */
export function toUsagePage(groups: readonly UsageGroup[], rows: readonly Row[]): UsagePage {
  const items = rows.flatMap((row) => {
    if (row['jobs'] === null) return []
    const labels = groups.flatMap((group, index) => {
      const [label, value] = [labelOf(group), row[`label${index}`]]
      return label === null || typeof value !== 'string' ? [] : [[label, value]]
    })
    return [
      {
        accountId: textOf(row['account_id']),
        accountName: textOf(row['account_name']),
        day: textOf(row['day']),
        model: textOf(row['model']),
        keyId: textOf(row['key_id']),
        keyName: textOf(row['key_name']),
        labels: Object.fromEntries(labels) as Record<string, string>,
        jobs: Number(row['jobs']),
        succeeded: Number(row['succeeded']),
        charged: Number(row['charged']),
      },
    ]
  })
  const [first = {}] = rows
  const sum = {
    jobs: Number(first['all_jobs']),
    succeeded: Number(first['all_succeeded']),
    charged: Number(first['all_charged']),
  }
  return { items, total: Number(first['total']), sum }
}

/** The column of a group in these rows. */
export function toUsageColumn(group: UsageGroup, index: number): string {
  if (group === 'day' || group === 'model') return group
  return group === 'key' ? 'key_id' : group === 'account' ? 'account_id' : `label${index}`
}

function sum(column: string, name = column): string {
  return `CAST(coalesce(sum(${column}), 0) AS BIGINT) AS ${name}`
}

function textOf(value: string | number | null | undefined): string | null {
  return typeof value === 'string' ? value : null
}
