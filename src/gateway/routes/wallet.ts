// /v1/wallet: the balance of the account and its ledger. docs/contract.md, section 1.
import type { FastifyInstance } from 'fastify'
import { EntrySchema } from '../../../gen/mediagen/v1/wallet_pb.ts'
import { compressLarge } from '../compress.ts'
import { type CoreClient, forward } from '../core-client.ts'
import { page, readQuery } from '../query.ts'
import { toListOf } from '../records.ts'
import { entryListSchema, walletSchema } from '../schemas/schemas.ts'

/** Adds the routes. */
export function addWalletRoutes(app: FastifyInstance, core: CoreClient): void {
  app.get(
    '/v1/wallet',
    {
      config: { permission: 'wallet:read' },
      schema: {
        operation: { id: 'getWallet', summary: 'Read the balance of the account.' },
        response: { 200: walletSchema },
      },
    },
    async (request) => {
      readQuery(request, {})
      const { available, held } = await core.wallet.getWallet({}, forward(request))
      return { available: Number(available), held: Number(held) }
    },
  )

  app.get(
    '/v1/wallet/entries',
    {
      config: { permission: 'wallet:read' },
      onSend: compressLarge,
      schema: {
        operation: { id: 'listEntries', summary: 'List ledger entries. The newest come first.', query: page },
        response: { 200: entryListSchema },
      },
    },
    async (request) => {
      const query = readQuery(request, page)
      const { entries, total } = await core.wallet.listEntries(query, forward(request))
      return toListOf(EntrySchema, entries, total, query)
    },
  )
}
