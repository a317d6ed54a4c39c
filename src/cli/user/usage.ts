// `mediagen usage`: what jobs were charged, as a table with bars, as CSV or as JSON.
import type { Usage, UsageRow } from '@mediagen/client/client.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { countDays, labelOf, type UsageGroup, usagePageBounds } from '../../core/credits/usage.ts'
import { type Printed, print, say } from './print.ts'
import { withServer } from './server.ts'
import { countCredits } from './words.ts'

interface Options {
  readonly from?: string
  readonly to?: string
  readonly by: string
  readonly limit: number
  readonly csv?: true
  readonly json?: true
}

const { usualLimit, largestLimit } = usagePageBounds
const usualColumns = 80
const widestBar = 40
const dayMs = 86_400_000

/** Adds the command. */
export function addUsageCommand(program: Command): void {
  program
    .command('usage')
    .description('Show what your jobs were charged, by day, model, key and label; this month by default')
    .option('--from <day>', 'first day, such as 2026-11-01')
    .option('--to <day>', 'last day')
    .option('--by <groups>', 'day, model, key, or label: and its name, separated by commas', 'day')
    .option('--limit <rows>', 'number of rows', parseRows, usualLimit)
    .option('--csv', 'print the whole table as CSV')
    .option('--json', 'print JSON')
    .action(
      withServer(async ({ client }, { from, to, by, limit, csv, json }: Options, _command: Command) => {
        const query = { from, to, group_by: by }
        if (csv) {
          process.stdout.write(await client.usageTable(query))
          return
        }
        const usage = await client.usage({ ...query, limit })
        if (json) return { ...usage }
        printUsage(usage, by.split(',').map((name) => name.trim()) as UsageGroup[])
      }),
    )
}

function parseRows(written: string): number {
  const rows = Number(written)
  if (!/^\d+$/.test(written) || rows < 1 || rows > largestLimit)
    throw new InvalidArgumentError(`It must be a whole number, 1 to ${largestLimit}.`)
  return rows
}

function printUsage(usage: Usage, groups: readonly UsageGroup[]): void {
  const { data, total, sum, from, to, time_zone } = usage
  const rows = groups.length === 1 && groups[0] === 'day' && !usage.has_more ? fillDays(data, from, to) : data
  const table = rows.map((row): Printed => ({
    ...Object.fromEntries(groups.map((group) => [group, valueOf(row, group)])),
    jobs: row.jobs,
    succeeded: row.succeeded,
    credits: row.charged,
    ...(sum.cost && { cost: row.cost && `${row.cost.amount} ${row.cost.currency}` }),
  }))
  const most = Math.max(...rows.map(({ charged }) => charged))
  const room = (process.stdout.columns || usualColumns) - widthOf(table) - 2
  const width = Math.min(widestBar, room)
  print(
    table.map((record, index) =>
      width < 1 ? record : { ...record, ' ': toBar(rows[index]?.charged ?? 0, most, width) },
    ),
  )
  const money = sum.cost ? ` (${sum.cost.amount} ${sum.cost.currency})` : ''
  say(
    `${from} to ${to}, ${time_zone}: ${sum.jobs} ${sum.jobs === 1 ? 'job' : 'jobs'}, ${sum.succeeded} succeeded, ${countCredits(sum.charged)}${money}\n`,
  )
  if (usage.has_more) say(`(the first ${data.length} of ${total} rows; --limit shows more, --csv all)\n`)
}

function valueOf(row: UsageRow, group: UsageGroup): string | null {
  const label = labelOf(group)
  if (label !== null) return row.labels[label] ?? null
  if (group === 'key') return row.key_name ?? (row.key_id && `${row.key_id}, without a name`)
  return group === 'day' ? row.day : row.model
}

/** The days between, too, on which nothing was started. */
function fillDays(rows: readonly UsageRow[], from: string, to: string): readonly UsageRow[] {
  const [first] = rows
  if (first === undefined) return rows
  const known = new Map(rows.map((row) => [row.day, row]))
  const nothing = { ...first, jobs: 0, succeeded: 0, charged: 0, cost: null }
  const days = Array.from({ length: countDays(from, to) }, (_, index) =>
    new Date(Date.parse(from) + index * dayMs).toISOString().slice(0, 10),
  )
  return days.map((day) => known.get(day) ?? { ...nothing, day })
}

/** The width that a table of these records has. */
function widthOf(records: readonly Printed[]): number {
  const [first = {}] = records
  const widths = Object.keys(first).map((name) =>
    Math.max(name.length, ...records.map((record) => String(record[name] ?? '-').length)),
  )
  return widths.reduce((sum, width) => sum + width + 2, -2)
}

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A bar for a part of `most`; whatever is above 0 can be seen, and for 0 it is a space, since a table marks what is empty. */
function toBar(value: number, most: number, width: number): string {
  if (value === 0) return ' '
  const steps = Math.max(1, Math.round((value / most) * width * eighths.length))
  return '█'.repeat(Math.floor(steps / eighths.length)) + (eighths[steps % eighths.length] ?? '')
}
