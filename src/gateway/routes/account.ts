// /v1/account: the account of the calling key and its keys without their text. /v1/key: the calling key. /v1/keys: those that it makes.
import { create } from '@bufbuild/protobuf'
import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { FastifyInstance } from 'fastify'
import { GetAccountResponseSchema } from '../../../gen/mediagen/v1/account_pb.ts'
import { KeySchema } from '../../../gen/mediagen/v1/admin_pb.ts'
import { type Limits, LimitsSchema, LimitStateSchema } from '../../../gen/mediagen/v1/limits_pb.ts'
import { Permission as PermissionCode } from '../../../gen/mediagen/v1/options_pb.ts'
import type { Permission } from '../../core/accounts/key.ts'
import type { WindowLimit } from '../../core/accounts/limits.ts'
import { MediagenError } from '../../core/errors.ts'
import { describeViolations } from '../../core/violations.ts'
import { type CoreClient, forward } from '../core-client.ts'
import { page, readQuery } from '../query.ts'
import { permissionCodes, toListOf, toRecord } from '../records.ts'
import {
  createdKeySchema,
  keyBodySchema,
  keyChangeSchema,
  keySchema,
  limitedKeySchema,
  ownKeySchema,
} from '../schemas/key-schemas.ts'
import { accountSchema, keyListSchema } from '../schemas/schemas.ts'

/** Adds the routes. */
export function addAccountRoutes(app: FastifyInstance, core: CoreClient): void {
  addAccountReads(app, core)
  addKeyRoutes(app, core)
}

function addAccountReads(app: FastifyInstance, core: CoreClient): void {
  app.get(
    '/v1/account',
    {
      config: { permission: 'any' },
      schema: {
        operation: {
          id: 'getAccount',
          summary: 'Read the account. The answer has the calling key and the limits that apply to both.',
        },
        response: { 200: accountSchema },
      },
    },
    async (request) => {
      readQuery(request, {})
      return toRecord(GetAccountResponseSchema, await core.account.getAccount({}, forward(request)))
    },
  )

  app.get(
    '/v1/account/keys',
    {
      config: { permission: 'wallet:read' },
      schema: {
        operation: {
          id: 'listOwnKeys',
          summary: 'List the API keys of the account. The newest come first, without their text.',
          query: page,
        },
        response: { 200: keyListSchema },
      },
    },
    async (request) => {
      const query = readQuery(request, page)
      const { keys, total } = await core.account.listOwnKeys(query, forward(request))
      return toListOf(KeySchema, keys, total, query)
    },
  )
}

interface KeyBody {
  permissions: Permission[]
  name?: string | null
  expires_at?: string | null
  limits?: LimitsBody | null
}

interface KeyParams {
  key_id: string
}

const path = { key_id: 'Id of a key that the calling key made.' }

function addKeyRoutes(app: FastifyInstance, core: CoreClient): void {
  app.get(
    '/v1/key',
    {
      config: { permission: 'any' },
      schema: {
        operation: {
          id: 'getOwnKey',
          summary: 'Read the calling key. The answer has its limits, and what is left of each.',
        },
        response: { 200: ownKeySchema },
      },
    },
    async (request) => {
      readQuery(request, {})
      const { key, left, timeZone } = await core.account.getOwnKey({}, forward(request))
      return {
        ...toRecord(KeySchema, key),
        left: left.map((state) => toRecord(LimitStateSchema, state)),
        time_zone: timeZone,
      }
    },
  )

  app.post<{ Body: KeyBody }>(
    '/v1/keys',
    {
      config: { permission: 'keys:write' },
      schema: {
        operation: {
          id: 'createOwnKey',
          summary:
            'Make a key of the account. It may do no more than the calling key, whose limits count what it spends.',
        },
        body: keyBodySchema,
        response: { 201: createdKeySchema },
      },
    },
    async (request, reply) => {
      readQuery(request, {})
      const { permissions, name, expires_at: expires, limits } = request.body
      const order = {
        permissions: permissions.map((name) => permissionCodes.get(name) ?? PermissionCode.UNSPECIFIED),
        name: name ?? '',
        ...(typeof expires === 'string' && { expiresAt: readTime('/expires_at', expires) }),
        ...(limits && { limits: toLimits(limits) }),
      }
      const { key, secret, unmatchedModels } = await core.account.createOwnKey(order, forward(request))
      reply.code(201)
      return { key: secret, ...toRecord(KeySchema, key), unmatched_models: unmatchedModels }
    },
  )

  app.patch<{ Params: KeyParams; Body: { limits: LimitsBody } }>(
    '/v1/keys/:key_id',
    {
      config: { permission: 'keys:write' },
      schema: {
        operation: {
          id: 'changeOwnKeyLimits',
          summary:
            'Change the limits of a key that the calling key made. Those that are not named stay; null removes one.',
          path,
          errors: ['key_not_found'],
        },
        body: keyChangeSchema,
        response: { 200: limitedKeySchema },
      },
    },
    async (request) => {
      readQuery(request, {})
      const { limits } = request.body
      const paths = Object.keys(limits)
      if (paths.length === 0) throw invalid('/limits', 'must name a limit to change')
      const change = { keyId: request.params.key_id, limits: toLimits(limits), updateMask: { paths } }
      const { key, unmatchedModels } = await core.account.changeOwnKeyLimits(change, forward(request))
      return { ...toRecord(KeySchema, key), unmatched_models: unmatchedModels }
    },
  )

  app.delete<{ Params: KeyParams }>(
    '/v1/keys/:key_id',
    {
      config: { permission: 'keys:write' },
      schema: {
        operation: {
          id: 'revokeOwnKey',
          summary: 'Revoke a key that the calling key made. It stops working everywhere within a second.',
          path,
          errors: ['key_not_found'],
        },
        response: { 200: keySchema },
      },
    },
    async (request) => {
      readQuery(request, {})
      const { key } = await core.account.revokeOwnKey({ keyId: request.params.key_id }, forward(request))
      return toRecord(KeySchema, key)
    },
  )
}

type CreditLimit = 'per_start' | WindowLimit

type LimitsBody = {
  [limit in CreditLimit]?: number | null
} & {
  models?: string[] | null
  origins?: string[] | null
  extra?: { credits: number; until: string } | null
}

function toLimits({ per_start, models, origins, extra, ...windows }: LimitsBody): Limits {
  const credits = Object.entries({ perStart: per_start, ...windows }).flatMap(([name, value]) =>
    typeof value === 'number' ? [[name, BigInt(value)]] : [],
  )
  const until = extra && readTime('/limits/extra/until', extra.until)
  return create(LimitsSchema, {
    ...(Object.fromEntries(credits) as Partial<Record<'perStart' | WindowLimit, bigint>>),
    models: models ?? [],
    origins: origins ?? [],
    ...(extra && until && { extra: { credits: BigInt(extra.credits), until } }),
  })
}

/** @throws MediagenError `invalid_request` for a leap second, which the schema lets pass */
function readTime(pointer: string, written: string): Timestamp {
  const ms = Date.parse(written)
  if (!Number.isNaN(ms)) return timestampFromMs(ms)
  throw invalid(pointer, 'must be a time such as 2026-12-31T18:00:00Z')
}

function invalid(pointer: string, detail: string): MediagenError {
  const violations = [{ pointer, detail }]
  return new MediagenError('invalid_request', describeViolations(violations), { violations })
}
