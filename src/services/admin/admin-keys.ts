// The operator's keys and limits, for any account, and the sessions of people.
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { AdminService } from '../../../gen/mediagen/v1/admin_pb.ts'
import type { Catalog } from '../../catalog/model.ts'
import type { Actor } from '../../core/accounts/audit.ts'
import { noLimits } from '../../core/accounts/limits.ts'
import type { SessionStore } from '../../core/accounts/session.ts'
import type { Clock } from '../../core/clock.ts'
import { MediagenError } from '../../core/errors.ts'
import type { Store } from '../../core/store.ts'
import { accountNotFound, whyKeyless } from '../account.ts'
import { findEmpty, readPage } from '../calls/request.ts'
import { keyNotFound, makeKey, readNewKey } from '../keys.ts'
import { toAccountMessage, toKeyMessage, toSessionMessage } from '../messages/convert.ts'
import { findUnmatched, readLimitsChange } from '../messages/limits.ts'

/** What they need. */
export interface KeyAdminDeps {
  readonly store: Pick<
    Store,
    | 'createKey'
    | 'changeKeyLimits'
    | 'changeAccountLimits'
    | 'listKeys'
    | 'revokeKey'
    | 'getAccount'
    | keyof SessionStore
  >
  readonly clock: Clock
  /** What patterns of models are compared with; null where it is not loaded. */
  readonly catalog: Pick<Catalog, 'ready'> | null
  /** What sessions of people depend on; null if that is not known. */
  readonly sessionTerms: string | null
  readonly by: (context: HandlerContext) => Actor
}

/** Creates the operator's part, for AdminService. */
export function createKeyAdmin({
  store,
  clock,
  catalog,
  sessionTerms,
  by,
}: KeyAdminDeps): Pick<
  ServiceImpl<typeof AdminService>,
  | 'createKey'
  | 'changeKeyLimits'
  | 'changeAccountLimits'
  | 'listKeys'
  | 'revokeKey'
  | 'listSessions'
  | 'revokeSession'
  | 'endSessions'
  | 'readmitPerson'
> {
  return {
    async createKey(request, context) {
      const { accountId } = request
      const terms = readNewKey(request, clock.nowMs(), findEmpty({ account_id: accountId }))
      const limits = { ...noLimits, ...terms.limits }
      const made = await makeKey(store, { ...terms, accountId, limits, makerId: null }, by(context))
      if (!made) throw (await whyKeyless(store, accountId)) ?? accountNotFound(accountId)
      return { ...made, unmatchedModels: findUnmatched(limits, catalog) }
    },

    async changeKeyLimits({ keyId, limits, updateMask }, context) {
      const change = readLimitsChange(limits, updateMask, clock.nowMs())
      const key = await store.changeKeyLimits(keyId, change, by(context))
      if (!key) throw keyNotFound(keyId)
      return { key: toKeyMessage(key), unmatchedModels: findUnmatched(key.limits, catalog) }
    },

    async changeAccountLimits({ accountId, limits, updateMask }, context) {
      const change = readLimitsChange(limits, updateMask, clock.nowMs())
      const account = await store.changeAccountLimits(accountId, change, by(context))
      if (!account) throw accountNotFound(accountId)
      return { account: toAccountMessage(account), unmatchedModels: findUnmatched(account.limits, catalog) }
    },

    async listKeys(request) {
      const { items, total } = await store.listKeys(request.accountId || null, readPage(request))
      return { keys: items.map(toKeyMessage), total }
    },

    async revokeKey(request, context) {
      const key = await store.revokeKey(request.keyId, by(context))
      if (!key) throw keyNotFound(request.keyId)
      return { key: toKeyMessage(key) }
    },

    async listSessions(request) {
      const { accountId, keyId, working } = request
      const filter = {
        accountId: accountId || null,
        keyId: keyId || null,
        working: working ? { terms: sessionTerms } : null,
      }
      const { items, total } = await store.listSessions(filter, readPage(request))
      return { sessions: items.map((session) => toSessionMessage(session, sessionTerms)), total }
    },

    async revokeSession({ sessionId }, context) {
      const session = await store.revokeSession(sessionId, by(context))
      if (!session) throw new MediagenError('session_not_found', `There is no session "${sessionId}".`)
      return { session: toSessionMessage(session, sessionTerms) }
    },

    async endSessions({ keyId, withKeys }, context) {
      const ended = await store.endSessions(keyId, withKeys, by(context))
      if (!ended)
        throw new MediagenError('key_not_found', `The key "${keyId}" is not that of a person. Nothing was changed.`)
      return ended
    },

    async readmitPerson({ keyId }, context) {
      const key = await store.readmitPerson(keyId, by(context))
      if (!key)
        throw new MediagenError('key_not_found', `No person is kept out by the key "${keyId}". Nothing was changed.`)
      return { key: toKeyMessage(key) }
    },
  }
}
