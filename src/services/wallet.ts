// WalletService: the balance of an account, its ledger, and the identity of the calling key. docs/contract.md, section 1, Money.
import type { ServiceImpl } from '@connectrpc/connect'
import type { WalletService } from '../../gen/mediagen/v1/wallet_pb.ts'
import type { Store } from '../core/store.ts'
import { readAccount } from './account.ts'
import { callerOf } from './calls/caller.ts'
import { readPage } from './calls/request.ts'
import { toAccess, toEntryMessage } from './messages/convert.ts'

/** Creates the service. */
export function createWalletService(deps: {
  store: Pick<Store, 'getAccount' | 'listEntries'>
}): ServiceImpl<typeof WalletService> {
  const { store } = deps
  return {
    async getWallet(_request, context) {
      const { available, held } = await readAccount(store, callerOf(context).accountId)
      return { available: BigInt(available), held: BigInt(held) }
    },
    async listEntries(request, context) {
      const { items, total } = await store.listEntries(callerOf(context).accountId, readPage(request))
      return { entries: items.map(toEntryMessage), total }
    },
    getAccess: (_request, context) => toAccess(callerOf(context)),
  }
}
