// AdminService: accounts, keys, credits and jobs under review, for the operator. The command line calls this same implementation.
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { AdminService, GrantCreditsResponseSchema } from '../../../gen/mediagen/v1/admin_pb.ts'
import type { Actor } from '../../core/accounts/audit.ts'
import { calendarOf } from '../../core/calendar.ts'
import type { Clock } from '../../core/clock.ts'
import { countCredits } from '../../core/credits/ledger.ts'
import type { CreditPrice } from '../../core/credits/price.ts'
import { MediagenError, type Violation } from '../../core/errors.ts'
import type { AssetUrls } from '../../core/files/asset.ts'
import type { JobFeed } from '../../core/jobs/feed.ts'
import type { FilesFolders } from '../../core/jobs/retention.ts'
import type { Account, AdjustOutcome, GrantOutcome, Store } from '../../core/store.ts'
import { accountClosed, accountNotFound } from '../account.ts'
import { actorOf } from '../calls/caller.ts'
import { findEmpty, findText, longestNote, readPage, refuse, toCredits } from '../calls/request.ts'
import { toAccountMessage, toAuditMessage, toEntryMessage, toMs } from '../messages/convert.ts'
import { readUsageRequest, toAccountUsageMessage, toUsageSumMessage } from '../usage.ts'
import type { Watches } from '../watches.ts'
import { createWebhookAdmin } from '../webhooks.ts'
import { createAccountAdmin } from './admin-accounts.ts'
import { createFilesAdmin, type RetentionSettings } from './admin-files.ts'
import { createJobAdmin } from './admin-jobs.ts'
import { createKeyAdmin } from './admin-keys.ts'
import { createModelAdmin, type OperatorCatalog } from './admin-models.ts'

// 1 to 128 printable ASCII characters, without spaces at the ends.
const referencePattern = /^(?=.{1,128}$)[!-~](?:[ -~]*[!-~])?$/

/** What only a running server has. */
export interface RunningServer {
  readonly catalog: OperatorCatalog
  readonly urls: AssetUrls
  readonly feed: Pick<JobFeed, 'watchAll'>
  readonly watches: Pick<Watches, 'open'>
}

/** Settings that operators are shown, or by which they are answered. */
export interface AdminSettings {
  readonly retention: RetentionSettings
  readonly timeZone: string
  /** Null for none. */
  readonly creditPrice: CreditPrice | null
  /** What sessions of people depend on; null where people cannot sign in, or nothing says so. */
  readonly sessionTerms: string | null
}

/** What the service needs. */
export interface AdminDeps {
  readonly store: Store
  readonly clock: Clock
  readonly folders: FilesFolders
  readonly settings: AdminSettings
  /** Null on the command line. */
  readonly server: RunningServer | null
  /** Who calls without a key: the user who runs a command. Null behind the pipeline, where every caller has one. */
  readonly osUser: string | null
}

/** Creates the service. Every act is recorded with who did it. */
export function createAdminService({
  store,
  clock,
  folders,
  settings,
  server,
  osUser,
}: AdminDeps): ServiceImpl<typeof AdminService> {
  const by = (context: HandlerContext): Actor => actorOf(context, osUser)
  const { catalog = null, urls = null, feed = null, watches = null } = server ?? {}
  const { retention, timeZone, creditPrice, sessionTerms } = settings
  return {
    ...createAccountAdmin(store, by),
    ...createKeyAdmin({ store, clock, catalog, sessionTerms, by }),
    ...createJobAdmin({ store, by, urls, feed, watches }),
    ...createModelAdmin(catalog),
    ...createWebhookAdmin(store, by),
    ...createFilesAdmin(store, folders, retention, by),

    async grantCredits(request, context) {
      const credits = toCredits(request.credits)
      refuse([
        ...(credits === null || credits < 1 ? [{ pointer: '/credits', detail: 'must be 1 to 2^53 - 1' }] : []),
        ...findText('note', request.note, longestNote),
        ...findReferenceFault(request.reference),
      ])
      const { accountId, note, reference } = request
      const outcome = await store.grantCredits(
        accountId,
        credits as number,
        note || null,
        by(context),
        reference || null,
      )
      return readGrant(outcome, accountId)
    },

    async adjustCredits(request, context) {
      const credits = toCredits(request.credits)
      refuse([
        ...(credits === null || credits === 0
          ? [{ pointer: '/credits', detail: 'must be a whole number other than 0' }]
          : []),
        ...findEmpty({ note: request.note }),
        ...findText('note', request.note, longestNote),
      ])
      const outcome = await store.adjustCredits(request.accountId, credits as number, request.note, by(context))
      return { account: toAccountMessage(readAdjustment(outcome, request.accountId)) }
    },

    async rotateQuoteKey(_request, context) {
      return { keyNumber: (await store.rotateSigningKey('quote', by(context))).number }
    },

    async rotateAssetKey({ revoke }, context) {
      return { keyNumber: (await store.rotateSigningKey('asset', by(context), revoke)).number }
    },

    async listAuditEntries(request) {
      const { accountId, actor, act, subject, since, until } = request
      refuse(findActFault(act))
      const page = readPage(request)
      const times = { sinceMs: toMs(since), untilMs: toMs(until) }
      const filter = { actor: actor || null, act: act || null, subject: subject || null, ...times }
      const { items, total } = await store.listAuditEntries(accountId || null, page, filter)
      return { entries: items.map(toAuditMessage), total }
    },

    async findUsage(request) {
      const read = readUsageRequest(request, calendarOf(timeZone).dayOf(clock.nowMs()), 'account')
      const { items, total, sum } = await store.listUsage({ ...read, accountId: request.accountId || null })
      return {
        rows: items.map((row) => toAccountUsageMessage(row, creditPrice)),
        total,
        sum: toUsageSumMessage(sum, creditPrice),
        from: read.from,
        to: read.to,
        timeZone,
      }
    },

    async verifyLedger() {
      const report = await store.verifyLedger()
      return {
        accounts: BigInt(report.accounts),
        entries: BigInt(report.entries),
        jobs: BigInt(report.jobs),
        problems: [...report.problems],
        repairs: [...report.repairs],
        root: report.root,
      }
    },
  }
}

/** Acts have names such as `key.created`. */
function findActFault(act: string): Violation[] {
  if (act === '' || /^[a-z_]{1,32}(?:\.[a-z_]{1,32})?$/.test(act)) return []
  return [{ pointer: '/act', detail: 'must be the name of an act such as key.created, or of a kind such as key' }]
}

function findReferenceFault(reference: string): Violation[] {
  if (reference === '' || referencePattern.test(reference)) return []
  const detail = 'must have 1 to 128 printable ASCII characters, without spaces at the ends'
  return [{ pointer: '/reference', detail }]
}

function readGrant(outcome: GrantOutcome, accountId: string): MessageInitShape<typeof GrantCreditsResponseSchema> {
  if (outcome.outcome === 'reference_reused') {
    const { reference, credits, accountId: owner, entryId } = outcome.entry
    throw new MediagenError(
      'reference_reused',
      `The reference "${reference}" belongs to a grant of ${countCredits(credits)} to ${owner} (${entryId}). Nothing was granted.`,
    )
  }
  if (outcome.outcome === 'closed') throw accountClosed(accountId)
  if (outcome.outcome !== 'done') return { account: toAccountMessage(readAdjustment(outcome, accountId)) }
  const { account, entry, replayed } = outcome
  return { account: toAccountMessage(account), entry: toEntryMessage(entry), replayed }
}

function readAdjustment(outcome: AdjustOutcome, accountId: string): Account {
  switch (outcome.outcome) {
    case 'done':
      return outcome.account
    case 'no_account':
      throw accountNotFound(accountId)
    case 'out_of_range':
      throw new MediagenError(
        'invalid_request',
        `The credits would bring the balance out of range, 0 to 2^53 - 1; available now: ${outcome.available}. Nothing was changed.`,
      )
  }
}
