// Converts messages to the JSON records of REST: snake_case, numbers for credits, null for missing values. docs/contract.md, section 1.
import type { DescEnum } from '@bufbuild/protobuf'
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import {
  BilledSchema,
  type Category,
  type Model,
  ModalitySchema,
  type Product,
} from '../../gen/mediagen/v1/catalog_pb.ts'
import type { File } from '../../gen/mediagen/v1/files_pb.ts'
import { type Job, JobStatus, JobStatusSchema, type Output } from '../../gen/mediagen/v1/generation_pb.ts'
import type { Quote } from '../../gen/mediagen/v1/quotes_pb.ts'
import { type Entry, EntryKindSchema } from '../../gen/mediagen/v1/wallet_pb.ts'
import {
  type Delivery,
  type DeliveryStatus,
  DeliveryStatusSchema,
  type Webhook,
} from '../../gen/mediagen/v1/webhooks_pb.ts'

/** A page of a list, as every list route returns it. */
export interface ListRecord<Item> {
  object: 'list'
  data: Item[]
  total: number
  limit: number
  offset: number
  has_more: boolean
}

export function toList<Item>(
  data: Item[],
  total: number,
  { limit, offset }: { limit: number; offset: number },
): ListRecord<Item> {
  return { object: 'list', data, total, limit, offset, has_more: offset + data.length < total }
}

export function toQuoteRecord(quote: Quote | undefined) {
  const { quoteId, model, credits, expiresAt } = present(quote)
  return { quote_id: quoteId, model, credits: Number(credits), expires_at: toTime(present(expiresAt)) }
}

export function toJobRecord(message: Job | undefined) {
  const job = present(message)
  const billing = present(job.billing)
  return {
    job_id: job.jobId,
    status: toName(JobStatusSchema, job.status),
    model: job.model,
    quote_id: job.quoteId,
    progress: job.progress,
    credits: Number(job.credits),
    billing: {
      quoted: Number(billing.quoted),
      held: Number(billing.held),
      charged: Number(billing.charged),
      released: Number(billing.released),
    },
    outputs: job.outputs.map(toOutputRecord),
    error: job.error ? { code: job.error.code, message: job.error.message, retryable: job.error.retryable } : null,
    attempts: job.attempts,
    created_at: toTime(present(job.createdAt)),
    started_at: toTimeOrNull(job.startedAt),
    finished_at: toTimeOrNull(job.finishedAt),
    queue_position: job.queuePosition ?? null,
  }
}

function toOutputRecord(output: Output) {
  return {
    url: output.expired ? null : output.url,
    content_type: output.contentType,
    bytes: Number(output.bytes),
    width: output.width ?? null,
    height: output.height ?? null,
    duration_seconds: output.durationSeconds ?? null,
    sha256: output.sha256,
    expires_at: toTimeOrNull(output.expiresAt),
    preview_url: output.previewUrl ?? null,
    blurhash: output.blurhash ?? null,
    expired: output.expired,
    kept_until: toTimeOrNull(output.keptUntil),
  }
}

export function toModelRecord(model: Model) {
  const pricing = present(model.pricing)
  return {
    id: model.id,
    object: 'model' as const,
    created: Math.floor(timestampMs(present(model.created)) / 1000),
    owned_by: model.ownedBy,
    name: model.name,
    description: model.description,
    category: model.category,
    product: model.product,
    mode: model.mode,
    modality: toName(ModalitySchema, model.modality),
    pricing: {
      billing: toName(BilledSchema, pricing.billing),
      summary: pricing.summary,
      from_credits: Number(pricing.fromCredits),
    },
  }
}

export function toProductRecord(product: Product) {
  return {
    object: 'product' as const,
    id: product.id,
    name: product.name,
    description: product.description,
    modality: toName(ModalitySchema, product.modality),
    modes: product.modes.map(({ mode, model, category, name }) => ({ mode, model, category, name })),
  }
}

export function toCategoryRecord(category: Category) {
  return {
    id: category.id,
    name: category.name,
    modality: toName(ModalitySchema, category.modality),
    count: category.count,
  }
}

export function toEntryRecord(entry: Entry) {
  return {
    entry_id: entry.entryId,
    kind: toName(EntryKindSchema, entry.kind),
    credits: Number(entry.credits),
    job_id: entry.jobId ?? null,
    available_after: Number(entry.availableAfter),
    held_after: Number(entry.heldAfter),
    note: entry.note ?? null,
    created_at: toTime(present(entry.createdAt)),
  }
}

export function toWebhookRecord(message: Webhook | undefined) {
  const webhook = present(message)
  return {
    webhook_id: webhook.webhookId,
    url: webhook.url,
    description: webhook.description ?? null,
    created_at: toTime(present(webhook.createdAt)),
    disabled_at: toTimeOrNull(webhook.disabledAt),
  }
}

export function toDeliveryRecord(delivery: Delivery) {
  return {
    delivery_id: delivery.deliveryId,
    webhook_id: delivery.webhookId,
    job_id: delivery.jobId,
    type: delivery.type,
    status: toName(DeliveryStatusSchema, delivery.status),
    attempts: delivery.attempts.map((attempt) => ({
      attempted_at: toTime(present(attempt.attemptedAt)),
      response_status: attempt.responseStatus ?? null,
      error: attempt.error ?? null,
      duration_seconds: attempt.durationSeconds,
    })),
    error: delivery.error ?? null,
    next_attempt_at: toTimeOrNull(delivery.nextAttemptAt),
    created_at: toTime(present(delivery.createdAt)),
    finished_at: toTimeOrNull(delivery.finishedAt),
  }
}

export function toFileRecord(message: File | undefined) {
  const file = present(message)
  return {
    file_id: file.fileId,
    url: file.url,
    content_type: file.contentType,
    bytes: Number(file.bytes),
    sha256: file.sha256,
    created_at: toTime(present(file.createdAt)),
    expires_at: toTime(present(file.expiresAt)),
  }
}

/** Whether the state ends a client's wait. */
export function isTerminalStatus(status: JobStatus | undefined): boolean {
  return status !== JobStatus.QUEUED && status !== JobStatus.RUNNING
}

/** Codes of states by their names, as REST writes them. */
export const jobStatusCodes = toCodes<JobStatus>(JobStatusSchema)
export const deliveryStatusCodes = toCodes<DeliveryStatus>(DeliveryStatusSchema)

function toCodes<Code extends number>(codes: DescEnum): ReadonlyMap<string, Code> {
  const named = codes.values.filter(({ number }) => number !== 0)
  return new Map(named.map(({ localName, number }) => [localName.toLowerCase(), number as Code]))
}

function toName(codes: DescEnum, code: number): string {
  return present(codes.value[code]).localName.toLowerCase()
}

function toTime(time: Timestamp): string {
  return new Date(timestampMs(time)).toISOString()
}

function toTimeOrNull(time: Timestamp | undefined): string | null {
  return time ? toTime(time) : null
}

function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the core sent a message without a field that is always there')
  return value
}
