// The headers of a start: Idempotency-Key, Cancel-After, Mediagen-Priority, Retain-For, Mediagen-Labels and Mediagen-Webhook-Url.
import type { FastifyRequest } from 'fastify'
import { MediagenError } from '../core/errors.ts'
import { longestDeadlineSeconds, priorityRange } from '../core/jobs/fair-queue.ts'
import { decodeHeader } from '../guards/label-headers.ts'
import { labelsHeader } from './labels.ts'
import { toMediagenError } from './problems/problem.ts'
import { integer, type Parameter, type Query, readParameters, type Values } from './query.ts'

const unitSeconds = { d: 86_400, h: 3600, m: 60 } as const

/** The headers of a start. */
export const startHeaders = {
  'Idempotency-Key': {
    required: true,
    description: 'A unique value for each intended generation; send the same value when you repeat the request.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    // The core checks it.
    read: (sent: string | undefined) => sent ?? '',
  },
  'Cancel-After': seconds(
    'Deadline of the job, in seconds or as a time such as 90s, 5m, 1h30m, at most seven days. A job that passes it ends as expired if it has not begun, else as canceled; nothing is charged.',
    ['300', '5m'],
    longestDeadlineSeconds,
    'must be seconds, or a time such as 90s, 5m or 1h30m; 1 second to 7 days',
  ),
  'Retain-For': seconds(
    'How long the outputs are kept after the job ends, in seconds or as a time such as 90s, 5m, 1h30m, 3d. The default is also the maximum: the retention of the server.',
    ['3600', '1h'],
    // The core checks the maximum.
    2 ** 31 - 1,
    'must be seconds, or a time such as 90s, 5m, 1h30m or 3d',
  ),
  'Mediagen-Priority': integer(
    'A job with a lower priority waits for all other jobs of its model.',
    0,
    priorityRange.least,
    priorityRange.most,
  ),
  'Mediagen-Labels': labelsHeader,
  'Mediagen-Webhook-Url': {
    description:
      'Where the end of the job is sent by POST, besides to the webhook endpoints of the account: an absolute http or https URL without user name, password or fragment, of at most 2048 characters. The key also needs the permission `webhooks`. It is no part of the request that an Idempotency-Key stands for.',
    schema: { type: 'string', maxLength: 2048, examples: ['https://example.com/hooks?order=42'] },
    read(sent: string | undefined): string {
      const url = sent === undefined ? '' : decodeHeader(sent)
      if (url === null) throw new Error('must be UTF-8')
      return url
    },
  },
} as const

/** The names as Node writes them. */
const sentNames: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys(startHeaders).map((name) => [name, name.toLowerCase()]),
)

/**
 * Reads the headers of a start.
 * @throws MediagenError `invalid_request` that names each invalid header
 */
export function readHeaders(request: FastifyRequest): Values<typeof startHeaders> {
  return readHeadersOf(request, startHeaders, (name) => sentNames[name] as string)
}

/**
 * Reads headers.
 * @param toSentName the name of a header as Node writes it
 * @throws MediagenError `invalid_request` that names each invalid header
 */
export function readHeadersOf<Parameters extends Query>(
  { headers }: FastifyRequest,
  parameters: Parameters,
  toSentName = (name: string): string => name.toLowerCase(),
): Values<Parameters> {
  const { values, violations } = readParameters(
    parameters,
    (name) => headers[toSentName(name)],
    (name) => name,
  )
  if (violations.length === 0) return values
  const words = violations.map(({ pointer, detail }) => `${pointer} ${detail}`)
  throw new MediagenError('invalid_request', `The header ${words.join('; the header ')}.`, { violations })
}

/** Seconds, or a time in days, hours, minutes and seconds. */
function seconds(
  description: string,
  examples: readonly string[],
  most: number,
  detail: string,
): Parameter<number | undefined> {
  return {
    description,
    schema: { type: 'string', examples },
    read(sent) {
      if (sent === undefined) return undefined
      const [whole, days = 0, hours = 0, minutes = 0, rest = 0] =
        /^(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s?)?$/.exec(sent) ?? []
      const { d, h, m } = unitSeconds
      const total = Number(days) * d + Number(hours) * h + Number(minutes) * m + Number(rest)
      if (!whole || total < 1 || total > most) throw new Error(detail)
      return total
    },
  }
}

/**
 * Renames the fields of a refusal by the core to the headers they came from.
 * @param webhookInHeader whether the URL of the webhook was in its header, and not in the body
 */
export function nameHeaders(error: unknown, webhookInHeader: boolean): unknown {
  const { details, code } = toMediagenError(error)
  const { violations = [] } = details
  const [only] = violations
  if (code !== 'invalid_request' || violations.length !== 1 || !only) return error
  const header = only.pointer === '/webhook_url' && !webhookInHeader ? undefined : headerOf[only.pointer]
  if (header === undefined) return error
  return new MediagenError(
    'invalid_request',
    `The header ${header} ${only.detail}.`,
    { violations: [{ ...only, pointer: header }] },
    { cause: error },
  )
}

/** Fields that only the core can check. */
const headerOf: Readonly<Record<string, string>> = {
  '/retain_seconds': 'Retain-For',
  '/webhook_url': 'Mediagen-Webhook-Url',
}
