// WalletService: the balance of an account, its ledger, its usage, and the identity of the calling key. docs/contract.md, section 1, Money.
import type { ServiceImpl } from '@connectrpc/connect'
import type { WalletService } from '../../gen/mediagen/v1/wallet_pb.ts'
import { calendarOf } from '../core/calendar.ts'
import type { Clock } from '../core/clock.ts'
import type { CreditPrice } from '../core/credits/price.ts'
import type { Store } from '../core/store.ts'
import { readAccount } from './account.ts'
import { callerOf } from './calls/caller.ts'
import { readPage } from './calls/request.ts'
import { toAccess, toEntryMessage } from './messages/convert.ts'
import { readUsageRequest, toUsageRowMessage, toUsageSumMessage } from './usage.ts'

/** Creates the service. */
export function createWalletService(deps: {
  store: Pick<Store, 'getAccount' | 'listEntries' | 'listUsage'>
  clock: Clock
  timeZone: string
  /** Null for none. */
  creditPrice: CreditPrice | null
}): ServiceImpl<typeof WalletService> {
  const { store, clock, timeZone, creditPrice } = deps
  return {
    async getWallet(_request, context) {
      const { available, held } = await readAccount(store, callerOf(context).accountId)
      return { available: BigInt(available), held: BigInt(held) }
    },
    async listEntries(request, context) {
      const { items, total } = await store.listEntries(callerOf(context).accountId, readPage(request))
      return { entries: items.map(toEntryMessage), total }
    },
    async getUsage(request, context) {
      const read = readUsageRequest(request, calendarOf(timeZone).dayOf(clock.nowMs()))
      const { items, total, sum } = await store.listUsage({ ...read, accountId: callerOf(context).accountId })
      return {
        rows: items.map((row) => toUsageRowMessage(row, creditPrice)),
        total,
        sum: toUsageSumMessage(sum, creditPrice),
        from: read.from,
        to: read.to,
        timeZone,
      }
    },
    getAccess: (_request, context) => toAccess(callerOf(context)),
  }
}
