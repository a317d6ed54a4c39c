// AccountService: what an account may know about itself, and the keys that its keys make.
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { AccountLimitsSchema, AccountService } from '../../gen/mediagen/v1/account_pb.ts'
import type { Catalog } from '../catalog/model.ts'
import type { ApiKey } from '../core/accounts/key.ts'
import { inheritLimits, limitStates } from '../core/accounts/limits.ts'
import { calendarOf } from '../core/calendar.ts'
import type { Clock } from '../core/clock.ts'
import { MediagenError, type Violation } from '../core/errors.ts'
import type { Account, Store } from '../core/store.ts'
import { actorOf, callerOf } from './calls/caller.ts'
import { readPage, refuse } from './calls/request.ts'
import { keyNotFound, makeKey, readNewKey } from './keys.ts'
import { toKeyMessage } from './messages/convert.ts'
import { checkWithin, findUnmatched, readLimitsChange, toLimitStateMessage } from './messages/limits.ts'

/** The limits that apply to every account. */
export type AccountLimits = MessageInitShape<typeof AccountLimitsSchema>

/** What the service needs. */
export interface AccountDeps {
  readonly store: Pick<
    Store,
    'getAccount' | 'listKeys' | 'getKey' | 'createKey' | 'changeKeyLimits' | 'revokeKey' | 'readBudgets'
  >
  readonly limits: AccountLimits
  readonly clock: Clock
  readonly catalog: Pick<Catalog, 'ready'>
  readonly timeZone: string
}

/**
 * Reads an account that has a key.
 * @throws MediagenError `account_not_found`
 */
export async function readAccount(store: Pick<Store, 'getAccount'>, accountId: string): Promise<Account> {
  const account = await store.getAccount(accountId)
  if (!account) throw accountNotFound(accountId)
  return account
}

export function accountNotFound(accountId: string): MediagenError {
  return new MediagenError('account_not_found', `There is no account "${accountId}".`)
}

/** The refusal of a change of a closed account. */
export function accountClosed(accountId: string): MediagenError {
  return new MediagenError(
    'account_closed',
    `The account "${accountId}" is closed, and stays as it is. Nothing was changed.`,
  )
}

/** The refusal of a start or a key of an account that is frozen or closed. */
export function accountFrozen({ status, statusReason }: Pick<Account, 'status' | 'statusReason'>): MediagenError {
  const why = statusReason === null ? '' : `: ${statusReason}`
  return new MediagenError(
    'account_frozen',
    `The account is ${status} by the operator of this server${why.replace(/[.!]$/, '')}. It starts nothing and gets no keys; what it has can be read. Nothing was held.`,
  )
}

/**
 * Why a key was not made: its account.
 * @returns null if that is not why
 */
export async function whyKeyless(store: Pick<Store, 'getAccount'>, accountId: string): Promise<MediagenError | null> {
  const account = await store.getAccount(accountId)
  if (!account) return accountNotFound(accountId)
  return account.status === 'active' ? null : accountFrozen(account)
}

/** Creates the service. */
export function createAccountService(deps: AccountDeps): ServiceImpl<typeof AccountService> {
  const { store, limits, clock, catalog, timeZone } = deps

  /** A key that the caller made. @throws MediagenError `key_not_found` for any other */
  async function findMade(caller: ApiKey, keyId: string): Promise<ApiKey> {
    const key = await store.getKey(keyId)
    if (key?.makerId !== caller.keyId) throw keyNotFound(keyId)
    return key
  }

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

    async getOwnKey(_request, context) {
      const key = callerOf(context)
      const budgets = await store.readBudgets(key)
      const left = limitStates(budgets, clock.nowMs(), calendarOf(timeZone)).map(toLimitStateMessage)
      return { key: toKeyMessage(key), left, timeZone }
    },

    async createOwnKey(request, context) {
      const maker = callerOf(context)
      const terms = readNewKey(request, clock.nowMs())
      const expiresAtMs = terms.expiresAtMs ?? maker.expiresAtMs
      const limited = inheritLimits(terms.limits, maker.limits)
      refuse([...findBeyondPermissions(terms.permissions, maker), ...findBeyondExpiry(expiresAtMs, maker)])
      checkWithin(limited, maker)
      const { accountId, keyId: makerId } = maker
      const draft = { ...terms, accountId, expiresAtMs, limits: limited, makerId }
      const made = await makeKey(store, draft, actorOf(context, null))
      // It was revoked after it had been checked.
      if (!made)
        throw (
          (await whyKeyless(store, accountId)) ??
          new MediagenError('invalid_api_key', 'The API key is unknown, has expired or was revoked.')
        )
      return { ...made, unmatchedModels: findUnmatched(limited, catalog) }
    },

    async changeOwnKeyLimits({ keyId, limits: sent, updateMask }, context) {
      const maker = callerOf(context)
      const change = readLimitsChange(sent, updateMask, clock.nowMs())
      const before = await findMade(maker, keyId)
      checkWithin({ ...before.limits, extra: null, ...change }, maker)
      const key = await store.changeKeyLimits(keyId, change, actorOf(context, null))
      if (!key) throw keyNotFound(keyId)
      return { key: toKeyMessage(key), unmatchedModels: findUnmatched(key.limits, catalog) }
    },

    async revokeOwnKey({ keyId }, context) {
      await findMade(callerOf(context), keyId)
      const key = await store.revokeKey(keyId, actorOf(context, null))
      if (!key) throw keyNotFound(keyId)
      return { key: toKeyMessage(key) }
    },
  }
}

/** A key that a key made makes no further ones: what it spends counts against its maker, and no further. */
function findBeyondPermissions(permissions: ApiKey['permissions'], maker: ApiKey): Violation[] {
  return permissions.flatMap((permission) => {
    if (permission === 'keys:write')
      return [{ pointer: '/permissions', detail: 'must not name keys:write: only the operator gives it' }]
    if (maker.permissions.includes(permission)) return []
    return [{ pointer: '/permissions', detail: `must not name ${permission}, which the calling key lacks` }]
  })
}

function findBeyondExpiry(expiresAtMs: number | null, maker: ApiKey): Violation[] {
  if (maker.expiresAtMs === null || (expiresAtMs !== null && expiresAtMs <= maker.expiresAtMs)) return []
  return [{ pointer: '/expires_at', detail: 'must not lie after the expiry of the calling key' }]
}
