// The operator's jobs, of any account: listed, read, watched, canceled, resolved, and what waits.
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { AdminService } from '../../../gen/mediagen/v1/admin_pb.ts'
import type { Actor } from '../../core/accounts/audit.ts'
import { toTimestampText } from '../../core/clock.ts'
import { countCredits } from '../../core/credits/ledger.ts'
import { MediagenError } from '../../core/errors.ts'
import type { AssetUrls } from '../../core/files/asset.ts'
import type { JobFeed } from '../../core/jobs/feed.ts'
import type { Job, JobStatus } from '../../core/jobs/job.ts'
import type { Store } from '../../core/store.ts'
import { callerOf, needsServer } from '../calls/caller.ts'
import { findLongName, findText, longestNote, readPage, readStatus, refuse, toCredits } from '../calls/request.ts'
import { toJobSummary, toOperatorJobMessage } from '../messages/job-message.ts'
import type { Watches } from '../watches.ts'

/** What they need; the last three are null where no server runs. */
export interface JobAdminDeps {
  readonly store: Pick<
    Store,
    'listJobs' | 'inspectJob' | 'resolveReview' | 'cancelAnyJob' | 'measureBacklog' | 'listAuditEntries'
  >
  readonly by: (context: HandlerContext) => Actor
  readonly urls: AssetUrls | null
  readonly feed: Pick<JobFeed, 'watchAll'> | null
  readonly watches: Pick<Watches, 'open'> | null
}

/** Creates the operator's part, for AdminService. */
export function createJobAdmin({ store, by, urls, feed, watches }: JobAdminDeps) {
  return {
    async resolveJob({ jobId, charge: sent }, context) {
      const charge = toCredits(sent)
      if (charge === null || charge < 0) refuse([{ pointer: '/charge', detail: 'must be 0 or more' }])
      const resolved = await store.resolveReview(jobId, charge as number, by(context))
      switch (resolved.outcome) {
        case 'done':
          return { charged: BigInt(resolved.job.creditsCharged), released: BigInt(resolved.job.creditsReleased) }
        case 'no_job':
          throw jobNotFound(jobId)
        case 'not_in_review':
          throw await notInReview(store, jobId, resolved.status)
        case 'above_hold':
          throw new MediagenError(
            'invalid_request',
            `/charge must be at most ${resolved.creditsHeld}, the credits that the job holds.`,
          )
      }
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

    async inspectJob({ jobId }) {
      const seen = await store.inspectJob(jobId)
      if (!seen) throw jobNotFound(jobId)
      return toOperatorJobMessage(seen, urls)
    },

    async cancelAnyJob({ jobId, reason }, context) {
      refuse(findText('reason', reason, longestNote))
      const job = await store.cancelAnyJob(jobId, reason || null, by(context))
      if (!job) throw jobNotFound(jobId)
      return { job: toJobSummary(job) }
    },

    async *watchAllJobs({ accountId }, context) {
      if (feed === null || watches === null) throw needsServer()
      const end = watches.open(callerOf(context).accountId)
      // A caller may be gone before it reads a change.
      const leaving = new AbortController()
      try {
        // It listens before this: what changes after the first message is in a later one.
        const changes = feed.watchAll(AbortSignal.any([context.signal, leaving.signal]))
        yield {}
        for await (const { jobs, more } of changes) {
          const wanted = accountId === '' ? jobs : jobs.filter((job: Job) => job.accountId === accountId)
          if (wanted.length > 0 || more) yield { jobs: wanted.map(toJobSummary), more }
        }
      } finally {
        leaving.abort()
        end()
      }
    },

    async measureBacklog() {
      const { models, reviews, oldestReviewMs, deliveries, overdueMs } = await store.measureBacklog()
      return {
        queues: models
          .toSorted((a, b) => b.queued - a.queued || (a.model < b.model ? -1 : 1))
          .map(({ model, queued, oldestMs, delayed, running }) => ({
            model,
            queued: BigInt(queued),
            oldestSeconds: oldestMs / 1000,
            delayed: BigInt(delayed),
            running: BigInt(running),
          })),
        reviews: BigInt(reviews),
        oldestReviewSeconds: oldestReviewMs / 1000,
        deliveries: BigInt(deliveries),
        overdueDeliverySeconds: overdueMs / 1000,
      }
    },
  } satisfies Partial<ServiceImpl<typeof AdminService>>
}

/** The refusal names who was faster, where another operator was. */
async function notInReview(
  store: Pick<Store, 'listAuditEntries'>,
  jobId: string,
  status: JobStatus,
): Promise<MediagenError> {
  const filter = { subject: jobId, act: 'job.resolved' }
  const { items } = await store.listAuditEntries(null, { limit: 1, offset: 0 }, filter)
  const [earlier] = items
  const charged = earlier?.after?.['charged']
  const how =
    earlier && typeof charged === 'number'
      ? `: ${nameOf(earlier.actor)} resolved it at ${toTimestampText(earlier.createdAtMs)} and charged ${countCredits(charged)}`
      : ''
  return new MediagenError(
    'job_not_in_review',
    `The job "${jobId}" is ${status}, not under review${how}. Nothing was changed.`,
  )
}

function nameOf(actor: Actor): string {
  if (actor.kind === 'key') return actor.keyId
  return actor.kind === 'command_line' ? actor.osUser : 'the server'
}

function jobNotFound(jobId: string): MediagenError {
  return new MediagenError('job_not_found', `There is no job "${jobId}".`)
}
