// Converts records of jobs to messages, and names of states both ways.
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { JsonObject } from '@mediagen/engine/engine.ts'
import type {
  InspectJobResponseSchema,
  JobSummarySchema,
  UpstreamRunSchema,
} from '../../../gen/mediagen/v1/admin_pb.ts'
import {
  type Job as JobMessage,
  JobErrorSchema,
  JobStatus as JobStatusCode,
  OutputSchema,
  type ProvenanceSchema,
} from '../../../gen/mediagen/v1/generation_pb.ts'
import type { Asset, AssetUrls } from '../../core/files/asset.ts'
import type { Provenance } from '../../core/files/provenance.ts'
import {
  creditsShown,
  isSettled,
  type Job,
  type JobStatus,
  type OperatorJob,
  type RecordedUpstreamRun,
} from '../../core/jobs/job.ts'

const statusCodes = {
  queued: JobStatusCode.QUEUED,
  running: JobStatusCode.RUNNING,
  succeeded: JobStatusCode.SUCCEEDED,
  failed: JobStatusCode.FAILED,
  canceled: JobStatusCode.CANCELED,
  expired: JobStatusCode.EXPIRED,
  needs_review: JobStatusCode.NEEDS_REVIEW,
} as const satisfies Record<JobStatus, JobStatusCode>

const statusNames = new Map<JobStatusCode, JobStatus>(
  Object.entries(statusCodes).map(([name, code]) => [code, name as JobStatus]),
)

/** The state that a message names; undefined for unspecified or unknown. */
export function toJobStatus(code: JobStatusCode): JobStatus | undefined {
  return statusNames.get(code)
}

/** The code of a state in messages. */
export function toJobStatusCode(status: JobStatus): JobStatusCode {
  return statusCodes[status]
}

/** The name of a message's state; empty for unspecified or unknown. */
export function toJobStatusName(code: JobStatusCode): string {
  return statusNames.get(code) ?? ''
}

/**
 * The message of a job. It is written out whole, because `create` would look up every field by its name.
 * @param input as much of the input as the record shows; null for none
 */
export function toJobMessage(job: Job, input: JsonObject | null, urls: AssetUrls): JobMessage {
  return {
    // First: V8 copies it as a whole only there.
    ...toSharedFields(job),
    $typeName: 'mediagen.v1.Job',
    quoteId: job.quoteId,
    credits: BigInt(creditsShown(job)),
    // Those of a job under review, or of one that was released then, are not delivered.
    outputs:
      job.status === 'succeeded' && job.deletedAtMs === null
        ? job.outputs.map((asset) => create(OutputSchema, toOutputMessage(job, asset, urls)))
        : [],
    previewUrl: job.previewKey === null ? undefined : urls.sign(job.previewKey).url,
    servedBy: job.servedBy ?? undefined,
    input: input ?? undefined,
    receipt: isSettled(job) ? toReceipt(job) : undefined,
  }
}

/** The fields of a job that both its owner and the operator see. */
function toSharedFields(job: Job) {
  const held = BigInt(job.creditsHeld)
  return {
    jobId: job.jobId,
    keyId: job.keyId,
    keyName: job.keyName ?? undefined,
    status: statusCodes[job.status],
    model: job.model,
    progress: job.progress,
    billing: {
      $typeName: 'mediagen.v1.Billing' as const,
      quoted: held,
      held,
      charged: BigInt(job.creditsCharged),
      released: BigInt(job.creditsReleased),
    },
    // Undefined is as good as left out; to spread objects that may be missing takes several times as long.
    error: job.error ? create(JobErrorSchema, job.error) : undefined,
    attempts: job.attempts,
    createdAt: timestampFromMs(job.createdAtMs),
    startedAt: toOptionalTime(job.startedAtMs),
    finishedAt: toOptionalTime(job.finishedAtMs),
    queuePosition: job.queuePosition ?? undefined,
    deletedAt: toOptionalTime(job.deletedAtMs),
    labels: job.labels,
  }
}

function toReceipt({ creditsHeld, creditsCharged, creditsReleased, quoteId, keyId }: Job) {
  return {
    $typeName: 'mediagen.v1.Receipt' as const,
    held: BigInt(creditsHeld),
    charged: BigInt(creditsCharged),
    released: BigInt(creditsReleased),
    quoteId,
    keyId,
  }
}

function toOptionalTime(ms: number | null): Timestamp | undefined {
  return ms === null ? undefined : timestampFromMs(ms)
}

function toOutputMessage(job: Job, asset: Asset, urls: AssetUrls): MessageInitShape<typeof OutputSchema> {
  const { outputsExpireAtMs: lastMs, outputsGone } = job
  const sign = (key: string) => (lastMs === null ? urls.sign(key) : urls.signWithin(key, lastMs))
  const signed = outputsGone ? null : sign(asset.key)
  const preview = signed && asset.previewKey !== null ? sign(asset.previewKey) : null
  return {
    url: signed?.url ?? '',
    contentType: asset.contentType,
    bytes: BigInt(asset.bytes),
    ...(asset.width !== null && { width: asset.width }),
    ...(asset.height !== null && { height: asset.height }),
    ...(asset.durationSeconds !== null && { durationSeconds: asset.durationSeconds }),
    sha256: asset.sha256,
    ...(signed && { expiresAt: timestampFromMs(signed.expiresAtMs) }),
    ...(preview && { previewUrl: preview.url }),
    ...(asset.blurhash !== null && { blurhash: asset.blurhash }),
    expired: signed === null,
    ...(lastMs !== null && { keptUntil: timestampFromMs(lastMs) }),
    ...(asset.provenance && { provenance: toProvenanceMessage(asset.provenance) }),
  }
}

function toProvenanceMessage(provenance: Provenance): MessageInitShape<typeof ProvenanceSchema> {
  const { signed, verified, issuer, generator, actions, sourceType, problem } = provenance
  return {
    signed,
    ...(verified !== null && { verified }),
    ...(issuer !== null && { issuer }),
    ...(generator !== null && { generator }),
    actions: [...actions],
    ...(sourceType !== null && { sourceType }),
    ...(problem !== null && { problem }),
  }
}

/** A job as lists of the operator show it. */
export function toJobSummary(job: Job): MessageInitShape<typeof JobSummarySchema> {
  return {
    ...toSharedFields(job),
    accountId: job.accountId,
    outputs: job.outputs.length,
    cancelRequested: job.cancelRequested,
  }
}

/** A job with what only an operator sees. */
export function toOperatorJobMessage(
  seen: OperatorJob,
  urls: AssetUrls | null,
): MessageInitShape<typeof InspectJobResponseSchema> {
  const { job } = seen
  return {
    job: toJobSummary(job),
    keyId: job.keyId,
    priority: seen.priority,
    resumable: seen.afterLoss !== 'never',
    afterLoss: seen.afterLoss,
    upstreamRuns: seen.upstreamRuns.map(toUpstreamRunMessage),
    // Those of other jobs only their owner sees.
    outputs: urls && job.status === 'needs_review' ? job.outputs.map((asset) => toOutputMessage(job, asset, urls)) : [],
    maxAttempts: seen.maxAttempts,
    lostRuns: seen.lostRuns,
    worker: seen.worker ?? '',
    ...(seen.deadlineAtMs !== null && { deadlineAt: timestampFromMs(seen.deadlineAtMs) }),
    ...(seen.availableAtMs !== null && { availableAt: timestampFromMs(seen.availableAtMs) }),
    ...(seen.leaseUntilMs !== null && { leaseUntil: timestampFromMs(seen.leaseUntilMs) }),
  }
}

function toUpstreamRunMessage(run: RecordedUpstreamRun): MessageInitShape<typeof UpstreamRunSchema> {
  const { n, provider, upstreamId, verdict, cost, submittedAtMs, endedAtMs } = run
  return {
    n,
    provider,
    upstreamId: upstreamId ?? '',
    verdict,
    submittedAt: timestampFromMs(submittedAtMs),
    ...(endedAtMs !== null && { endedAt: timestampFromMs(endedAtMs) }),
    ...(cost && { cost: cost.text }),
    ...(cost && cost.amount !== null && { costAmount: cost.amount }),
    ...(cost && cost.currency !== null && { costCurrency: cost.currency }),
  }
}
