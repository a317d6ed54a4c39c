// Limits of keys and accounts: read from messages, written into them, and what they say against a start.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { type FieldMask, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import type { Limits as LimitsMessage, LimitsSchema, LimitStateSchema } from '../../../gen/mediagen/v1/limits_pb.ts'
import type { Catalog } from '../../catalog/model.ts'
import type { ApiKey } from '../../core/accounts/key.ts'
import {
  allowsModel,
  findBeyond,
  limitFields,
  type LimitName,
  type Limits,
  type LimitState,
  matchesModel,
  noLimits,
  windowLimits,
} from '../../core/accounts/limits.ts'
import { toTimestampText } from '../../core/clock.ts'
import { countCredits } from '../../core/credits/ledger.ts'
import { MediagenError, type Violation } from '../../core/errors.ts'
import { findHidden, findLong, lastTimeMs, refuse, toCredits } from '../calls/request.ts'

const mostPatterns = 100
const mostOrigins = 20
const longestPattern = 200

const names = Object.keys(limitFields) as (keyof typeof limitFields)[]

const inWords: Readonly<Record<LimitName, string>> = {
  per_start: 'limit for one start',
  daily: 'daily limit',
  weekly: 'weekly limit',
  monthly: 'monthly limit',
  total: 'total limit',
}

/**
 * Reads the limits that a message sets.
 * @throws MediagenError `invalid_request` that names everything that is wrong
 */
export function readLimits(message: LimitsMessage | undefined, nowMs: number): Partial<Limits> {
  if (message === undefined) return {}
  const violations: Violation[] = []
  const { models, origins, extra } = message
  const credits = Object.fromEntries(
    (['perStart', ...windowLimits] as const).flatMap((field) => {
      const sent = message[field]
      if (sent === undefined) return []
      const value = toCredits(sent)
      if (value === null || value < 0)
        violations.push({
          pointer: `/limits/${field === 'perStart' ? 'per_start' : field}`,
          detail: 'must be 0 to 2^53 - 1',
        })
      return [[field, value]]
    }),
  ) as Partial<Limits>
  violations.push(...findWrongPatterns(models), ...findWrongOrigins(origins))
  const more = extra && { credits: toCredits(extra.credits), untilMs: extra.until ? timestampMs(extra.until) : null }
  if (more && (more.credits === null || more.credits < 1))
    violations.push({ pointer: '/limits/extra/credits', detail: 'must be 1 to 2^53 - 1' })
  if (more && (more.untilMs === null || more.untilMs <= nowMs || more.untilMs > lastTimeMs))
    violations.push({ pointer: '/limits/extra/until', detail: 'must lie in the future, before the year 10000' })
  refuse(violations)
  return {
    ...credits,
    ...(models.length > 0 && { models: [...new Set(models)] }),
    ...(origins.length > 0 && { origins: [...new Set(origins)] }),
    ...(more && { extra: more as Limits['extra'] }),
  }
}

/**
 * Reads a change of limits: those that `mask` names.
 * @throws MediagenError `invalid_request`
 */
export function readLimitsChange(
  message: LimitsMessage | undefined,
  mask: FieldMask | undefined,
  nowMs: number,
): Partial<Limits> {
  const paths = mask?.paths ?? []
  const unknown = paths.find((path) => !Object.hasOwn(limitFields, path))
  if (paths.length === 0)
    refuse([{ pointer: '/update_mask', detail: `must name the limits to change: ${names.join(', ')}` }])
  if (unknown !== undefined)
    refuse([{ pointer: '/update_mask', detail: `names no limit: ${unknown}; the limits are ${names.join(', ')}` }])
  const sent = { ...noLimits, ...readLimits(message, nowMs) }
  return Object.fromEntries(
    names.filter((name) => paths.includes(name)).map((name) => [limitFields[name], sent[limitFields[name]]]),
  )
}

/**
 * Checks that a key may do no more than the key that makes it.
 * @throws MediagenError `invalid_request` that names what is beyond
 */
export function checkWithin(limits: Limits, maker: ApiKey): void {
  refuse(
    findBeyond(limits, maker.limits).map((name) => ({
      pointer: `/limits/${name}`,
      detail:
        name === 'extra' ? 'can be given by the operator only' : 'must not go beyond the limits of the calling key',
    })),
  )
}

function findWrongPatterns(models: readonly string[]): Violation[] {
  if (models.length > mostPatterns)
    return [{ pointer: '/limits/models', detail: `must have at most ${mostPatterns} items` }]
  return models.flatMap((pattern, index) => {
    const name = `limits/models/${index}`
    const empty = pattern.trim() === '' ? [{ pointer: `/${name}`, detail: 'must not be empty' }] : []
    return [...empty, ...findLong(name, pattern, longestPattern), ...findHidden({ [name]: pattern })]
  })
}

function findWrongOrigins(origins: readonly string[]): Violation[] {
  if (origins.length > mostOrigins)
    return [{ pointer: '/limits/origins', detail: `must have at most ${mostOrigins} items` }]
  return origins.flatMap((origin, index) =>
    URL.parse(origin)?.origin === origin
      ? []
      : [{ pointer: `/limits/origins/${index}`, detail: 'must be an origin such as https://app.example' }],
  )
}

/** The patterns that match no ready model; none where no catalog is at hand. */
export function findUnmatched({ models }: Limits, catalog: Pick<Catalog, 'ready'> | null): string[] {
  if (catalog === null) return []
  return models.filter((pattern) => !catalog.ready().some(({ id }) => matchesModel(pattern, id)))
}

/**
 * Checks that a key may use a model.
 * @throws MediagenError `model_not_allowed`
 */
export function checkAllowed(key: ApiKey, model: string): void {
  const whose = [
    ['This API key', key.limits],
    ['The key that made this API key', key.makerLimits],
    ['The account', key.accountLimits],
  ] as const
  const [words, limits] = whose.find(([, { models }]) => !allowsModel(models, model)) ?? []
  if (limits !== undefined)
    throw new MediagenError(
      'model_not_allowed',
      `${words} may not use the model "${model}", only ${limits.models.join(', ')}. Nothing was held.`,
    )
}

/** The refusal of a start that would exceed a limit. */
export function budgetExceeded(required: number, state: LimitState): MediagenError {
  const { of, limit, credits, held, charged, left, startsAtMs, renewsAtMs } = state
  const whose = { key: 'of this API key', maker: 'of the key that made this API key', account: 'of the account' }[of]
  const spent =
    limit === 'per_start'
      ? ''
      : `: ${charged} charged, ${held} held${startsAtMs === null ? '' : ` since ${toTimestampText(startsAtMs)}`}, ${left} left`
  const renewal = renewsAtMs === null ? '' : ` It renews at ${toTimestampText(renewsAtMs)}.`
  return new MediagenError(
    'budget_exceeded',
    `The quote needs ${countCredits(required)}, and the ${inWords[limit]} ${whose} is ${credits}${spent}. Nothing was held.${renewal}`,
    { required, budget: state },
  )
}

export function toLimitsMessage(limits: Limits): MessageInitShape<typeof LimitsSchema> {
  const { models, origins, extra } = limits
  return {
    ...toBig('perStart', limits.perStart),
    ...toBig('daily', limits.daily),
    ...toBig('weekly', limits.weekly),
    ...toBig('monthly', limits.monthly),
    ...toBig('total', limits.total),
    models: [...models],
    origins: [...origins],
    ...(extra && { extra: { credits: BigInt(extra.credits), until: timestampFromMs(extra.untilMs) } }),
  }
}

function toBig<Name extends string>(name: Name, value: number | null): { [name in Name]?: bigint } {
  return (value === null ? {} : { [name]: BigInt(value) }) as { [name in Name]?: bigint }
}

export function toLimitStateMessage(state: LimitState): MessageInitShape<typeof LimitStateSchema> {
  const { startsAtMs, renewsAtMs } = state
  return {
    of: state.of,
    limit: state.limit,
    credits: BigInt(state.credits),
    held: BigInt(state.held),
    charged: BigInt(state.charged),
    left: BigInt(state.left),
    ...(startsAtMs !== null && { startsAt: timestampFromMs(startsAtMs) }),
    ...(renewsAtMs !== null && { renewsAt: timestampFromMs(renewsAtMs) }),
  }
}
