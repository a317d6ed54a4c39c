// AdminService: accounts, keys, credits and jobs under review, for the operator. The command line calls this same implementation.
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { AdminService, GrantCreditsResponseSchema } from '../../../gen/mediagen/v1/admin_pb.ts'
import type { Catalog } from '../../catalog/model.ts'
import type { Actor } from '../../core/accounts/audit.ts'
import type { Clock } from '../../core/clock.ts'
import { countCredits } from '../../core/credits/ledger.ts'
import { MediagenError, type Violation } from '../../core/errors.ts'
import type { Job } from '../../core/jobs/job.ts'
import type { FilesFolders } from '../../core/jobs/retention.ts'
import type { Account, AdjustOutcome, GrantOutcome, ResolveOutcome, Store } from '../../core/store.ts'
import { accountNotFound } from '../account.ts'
import { actorOf } from '../calls/caller.ts'
import {
  findEmpty,
  findLongName,
  findText,
  longestName,
  readPage,
  readStatus,
  refuse,
  toCredits,
} from '../calls/request.ts'
import { toAccountMessage, toAuditMessage, toEntryMessage } from '../messages/convert.ts'
import { toJobSummary, toOperatorJobMessage } from '../messages/job-message.ts'
import { createWebhookAdmin } from '../webhooks.ts'
import { createFilesAdmin } from './admin-files.ts'
import { createKeyAdmin } from './admin-keys.ts'
import { unfinished } from './unfinished.ts'

const longestNote = 1000
// 1 to 128 printable ASCII characters, without spaces at the ends.
const referencePattern = /^(?=.{1,128}$)[!-~](?:[ -~]*[!-~])?$/

/** What the service needs. */
export interface AdminDeps {
  readonly store: Store
  readonly clock: Clock
  readonly folders: FilesFolders
  /** What patterns of models are compared with; null where it is not loaded. */
  readonly catalog: Pick<Catalog, 'ready'> | null
  /** Who calls without a key: the user who runs a command. Null behind the pipeline, where every caller has one. */
  readonly osUser: string | null
}

/** Creates the service. Every act is recorded with who did it. */
export function createAdminService({
  store,
  clock,
  folders,
  catalog,
  osUser,
}: AdminDeps): ServiceImpl<typeof AdminService> {
  const by = (context: HandlerContext): Actor => actorOf(context, osUser)
  return {
    ...createKeyAdmin({ store, clock, catalog, by }),
    ...createWebhookAdmin(store, by),
    ...createFilesAdmin(store, folders, by),
    ...unfinished,

    async createAccount(request, context) {
      const credits = toCredits(request.credits)
      const violations = [...findEmpty({ name: request.name }), ...findText('name', request.name, longestName)]
      if (credits === null || credits < 0) violations.push({ pointer: '/credits', detail: 'must be 0 to 2^53 - 1' })
      refuse(violations)
      return { account: toAccountMessage(await store.createAccount(request.name, credits as number, by(context))) }
    },

    async listAccounts(request) {
      const { items, total } = await store.listAccounts(readPage(request))
      return { accounts: items.map(toAccountMessage), total }
    },

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

    async resolveJob(request, context) {
      const charge = toCredits(request.charge)
      if (charge === null || charge < 0) refuse([{ pointer: '/charge', detail: 'must be 0 or more' }])
      const resolved = await store.resolveReview(request.jobId, charge as number, by(context))
      const job = readResolution(resolved, request.jobId)
      return { charged: BigInt(job.creditsCharged), released: BigInt(job.creditsReleased) }
    },

    async listAllJobs(request) {
      refuse(findLongName('model', request.model))
      const status = readStatus(request.status)
      const { items, total } = await store.listJobs({
        accountId: request.accountId || null,
        status,
        model: request.model || null,
        idempotencyKey: null,
        search: null,
        withDeleted: true,
        ...readPage(request),
      })
      return { jobs: items.map(toJobSummary), total }
    },

    async inspectJob(request) {
      const seen = await store.inspectJob(request.jobId)
      if (!seen) throw jobNotFound(request.jobId)
      return toOperatorJobMessage(seen)
    },

    async rotateQuoteKey(_request, context) {
      return { keyNumber: (await store.rotateSigningKey('quote', by(context))).number }
    },

    async rotateAssetKey({ revoke }, context) {
      return { keyNumber: (await store.rotateSigningKey('asset', by(context), revoke)).number }
    },

    async listAuditEntries(request) {
      const { items, total } = await store.listAuditEntries(request.accountId || null, readPage(request))
      return { entries: items.map(toAuditMessage), total }
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

function readResolution(resolved: ResolveOutcome, jobId: string): Job {
  switch (resolved.outcome) {
    case 'done':
      return resolved.job
    case 'no_job':
      throw jobNotFound(jobId)
    case 'not_in_review':
      throw new MediagenError(
        'job_not_in_review',
        `The job "${jobId}" is ${resolved.status}, not under review. Nothing was changed.`,
      )
    case 'above_hold':
      throw new MediagenError(
        'invalid_request',
        `/charge must be at most ${resolved.creditsHeld}, the credits that the job holds.`,
      )
  }
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

function jobNotFound(jobId: string): MediagenError {
  return new MediagenError('job_not_found', `There is no job "${jobId}".`)
}
