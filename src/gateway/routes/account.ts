// /v1/account: the account of the calling key, its keys without their text, and its limits.
import type { FastifyInstance } from 'fastify'
import { GetAccountResponseSchema } from '../../../gen/mediagen/v1/account_pb.ts'
import { KeySchema } from '../../../gen/mediagen/v1/admin_pb.ts'
import { type CoreClient, forward } from '../core-client.ts'
import { page, readQuery } from '../query.ts'
import { toListOf, toRecord } from '../records.ts'
import { accountSchema, keyListSchema } from '../schemas.ts'

/** Adds the routes. */
export function addAccountRoutes(app: FastifyInstance, core: CoreClient): void {
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
