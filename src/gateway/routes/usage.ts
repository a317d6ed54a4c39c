// GET /v1/usage: what the jobs of the account were charged, as JSON or as a table. docs/contract.md, section 1, Usage.
import type { FastifyInstance } from 'fastify'
import {
  type GetUsageResponse,
  type UsageRow,
  UsageRowSchema,
  UsageSumSchema,
} from '../../../gen/mediagen/v1/wallet_pb.ts'
import { labelOf, mostUsageDays, mostUsageGroups, type UsageGroup, usagePageBounds } from '../../core/credits/usage.ts'
import { MediagenError } from '../../core/errors.ts'
import { compressLarge } from '../compress.ts'
import { type CoreClient, forward } from '../core-client.ts'
import { toCsv } from '../csv.ts'
import { json } from '../openapi/document.ts'
import { integer, page, type Parameter, readQuery, text } from '../query.ts'
import { toListOf, toRecord } from '../records.ts'
import { usageSchema } from '../schemas/schemas.ts'

const { usualLimit, largestLimit } = usagePageBounds
const limit = integer('Page size.', usualLimit, 1, largestLimit)
const formats = ['json', 'csv']

const format: Parameter<string> = {
  description: 'A JSON record, or a table for a spreadsheet.',
  schema: { type: 'string', enum: formats, default: 'json' },
  read(sent = 'json') {
    if (!formats.includes(sent)) throw new Error(`must be one of ${formats.join(', ')}`)
    return sent
  },
}

const parameters = {
  from: text('First day, `YYYY-MM-DD`. Default: the first of the month of the last day.'),
  to: text(`Last day; ${mostUsageDays} days at most. Default: today.`),
  group_by: text(
    `\`day\`, \`model\`, \`key\`, or \`label:\` and the name of a label, separated by commas; at most ${mostUsageGroups}. Default: \`day\`.`,
  ),
  format,
  limit: {
    ...limit,
    description: `Page size. Default: ${usualLimit}; ${largestLimit} for a table.`,
    schema: { type: 'integer', format: 'int32', minimum: 1, maximum: largestLimit },
    read: (sent: string | undefined) => (sent === undefined ? undefined : limit.read(sent)),
  },
  offset: page.offset,
}

const csv = {
  'text/csv': {
    schema: { type: 'string' },
    example: 'day,label:team,jobs,succeeded,charged\r\n2026-11-27,ads,12,11,340\r\n',
  },
}

/** Adds the route. */
export function addUsageRoute(app: FastifyInstance, core: CoreClient): void {
  app.get(
    '/v1/usage',
    {
      config: { permission: 'wallet:read' },
      onSend: compressLarge,
      schema: {
        operation: {
          id: 'getUsage',
          summary:
            'Read what jobs were charged. A job counts on the day of its start, when it has ended. Rows are in the order of days, then the highest charge first.',
          query: parameters,
          answers: { 200: { description: 'The usage.', content: { ...json(usageSchema), ...csv } } },
        },
        response: { 200: usageSchema },
      },
    },
    async (request, reply) => {
      const { from, to, group_by, format, limit, offset } = readQuery(request, parameters)
      const groupBy = group_by === '' ? [] : group_by.split(',').map((name) => name.trim())
      const asked = limit ?? (format === 'csv' ? largestLimit : usualLimit)
      const usage = await core.wallet.getUsage({ from, to, groupBy, limit: asked, offset }, forward(request))
      if (format === 'json') return toJson(usage, { limit: asked, offset })
      // A table that was cut would be taken for the whole.
      if (limit === undefined && offset + usage.rows.length < usage.total) throw tooLarge(usage.total)
      const groups = (groupBy.length === 0 ? ['day'] : groupBy) as UsageGroup[]
      return reply.type('text/csv; charset=utf-8').send(toTable(groups, usage))
    },
  )
}

function tooLarge(rows: number): MediagenError {
  const detail = `must be sent for a table of ${rows} rows, which is more than ${largestLimit}; fewer days or groups make a smaller one`
  return new MediagenError('invalid_request', `The query parameter limit ${detail}.`, {
    violations: [{ pointer: '?limit', detail }],
  })
}

function toJson({ rows, total, sum, from, to, timeZone }: GetUsageResponse, page: { limit: number; offset: number }) {
  return {
    ...toListOf(UsageRowSchema, rows, total, page),
    sum: toRecord(UsageSumSchema, sum),
    from,
    to,
    time_zone: timeZone,
  }
}

function toTable(groups: readonly UsageGroup[], { rows, sum }: GetUsageResponse): string {
  const priced = sum?.cost !== undefined
  const names = groups.flatMap((group) => (group === 'key' ? ['key_id', 'key_name'] : [group]))
  const cells = rows.map((row) => [
    ...groups.flatMap((group) => toCells(group, row)),
    Number(row.jobs),
    Number(row.succeeded),
    Number(row.charged),
    ...(priced ? [row.cost?.amount ?? '', row.cost?.currency ?? ''] : []),
  ])
  return toCsv([[...names, 'jobs', 'succeeded', 'charged', ...(priced ? ['cost', 'currency'] : [])], ...cells])
}

function toCells(group: UsageGroup, { day, model, keyId, keyName, labels }: UsageRow): string[] {
  const label = labelOf(group)
  if (label !== null) return [labels[label] ?? '']
  return group === 'key' ? [keyId ?? '', keyName ?? ''] : [(group === 'day' ? day : model) ?? '']
}
