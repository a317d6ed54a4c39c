// AccountService: what an account may know about itself: its keys without their text, and the limits that apply to it.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { AccountLimitsSchema, AccountService } from '../../gen/mediagen/v1/account_pb.ts'
import { MediagenError } from '../core/errors.ts'
import type { Account, Store } from '../core/store.ts'
import { callerOf } from './caller.ts'
import { toKeyMessage } from './convert.ts'
import { readPage } from './request.ts'

/** The limits that apply to every account. */
export type AccountLimits = MessageInitShape<typeof AccountLimitsSchema>

/**
 * Reads an account that has a key.
 * @throws MediagenError `account_not_found`
 */
export async function readAccount(store: Pick<Store, 'getAccount'>, accountId: string): Promise<Account> {
  const account = await store.getAccount(accountId)
  if (!account) throw new MediagenError('account_not_found', `There is no account "${accountId}".`)
  return account
}

/** Creates the service. */
export function createAccountService(
  store: Pick<Store, 'getAccount' | 'listKeys'>,
  limits: AccountLimits,
): ServiceImpl<typeof AccountService> {
  return {
    async getAccount(_request, context) {
      const key = callerOf(context)
      const { accountId, name, createdAtMs } = await readAccount(store, key.accountId)
      return { accountId, name, createdAt: timestampFromMs(createdAtMs), key: toKeyMessage(key), limits }
    },
    async listOwnKeys(request, context) {
      const { items, total } = await store.listKeys(callerOf(context).accountId, readPage(request))
      return { keys: items.map(toKeyMessage), total }
    },
  }
}
