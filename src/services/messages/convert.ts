// Converts between records and messages, those of jobs excepted, which job-message.ts has; no other file knows both.
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { type Timestamp, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import {
  type AccountSchema,
  AccountStatus as AccountStatusCode,
  type AuditEntrySchema,
  type KeySchema,
  type SessionSchema,
} from '../../../gen/mediagen/v1/admin_pb.ts'
import {
  type ModelEndSchema,
  Billed,
  Modality as ModalityCode,
  type Model as ModelMessage,
  ModelSchema,
  type SampleSchema,
} from '../../../gen/mediagen/v1/catalog_pb.ts'
import type { FileSchema } from '../../../gen/mediagen/v1/files_pb.ts'
import { Permission as PermissionCode } from '../../../gen/mediagen/v1/options_pb.ts'
import type { QuoteSchema } from '../../../gen/mediagen/v1/quotes_pb.ts'
import { EntryKind as EntryKindCode, type EntrySchema } from '../../../gen/mediagen/v1/wallet_pb.ts'
import {
  DeliveryStatus as DeliveryStatusCode,
  type DeliveryAttemptSchema,
  type DeliverySchema,
  type WebhookSchema,
} from '../../../gen/mediagen/v1/webhooks_pb.ts'
import type { ModelEnd } from '../../catalog/lifetime.ts'
import type { Modality, Model, Sample } from '../../catalog/model.ts'
import type { AccountStatus } from '../../core/accounts/account-status.ts'
import type { AuditEntry } from '../../core/accounts/audit.ts'
import type { ApiKey, Permission } from '../../core/accounts/key.ts'
import type { Session } from '../../core/accounts/session.ts'
import type { Delivery, DeliveryAttempt, DeliveryStatus, Webhook } from '../../core/accounts/webhook.ts'
import type { EntryKind, LedgerEntry } from '../../core/credits/ledger.ts'
import type { Quote } from '../../core/credits/quote-seal.ts'
import type { AssetUrls } from '../../core/files/asset.ts'
import type { Upload } from '../../core/files/upload.ts'
import type { Account } from '../../core/store.ts'
import { toLimitsMessage } from './limits.ts'

const modalityCodes = {
  image: ModalityCode.IMAGE,
  video: ModalityCode.VIDEO,
  audio: ModalityCode.AUDIO,
} as const satisfies Record<Modality, ModalityCode>

const permissionCodes = {
  generate: PermissionCode.GENERATE,
  'models:read': PermissionCode.MODELS_READ,
  'jobs:read': PermissionCode.JOBS_READ,
  'wallet:read': PermissionCode.WALLET_READ,
  webhooks: PermissionCode.WEBHOOKS,
  'keys:write': PermissionCode.KEYS_WRITE,
  admin: PermissionCode.ADMIN,
} as const satisfies Record<Permission, PermissionCode>

const entryKindCodes = {
  grant: EntryKindCode.GRANT,
  hold: EntryKindCode.HOLD,
  charge: EntryKindCode.CHARGE,
  release: EntryKindCode.RELEASE,
  adjust: EntryKindCode.ADJUST,
} as const satisfies Record<EntryKind, EntryKindCode>

const accountStatusCodes = {
  active: AccountStatusCode.ACTIVE,
  frozen: AccountStatusCode.FROZEN,
  closed: AccountStatusCode.CLOSED,
} as const satisfies Record<AccountStatus, AccountStatusCode>

const deliveryStatusCodes = {
  pending: DeliveryStatusCode.PENDING,
  delivered: DeliveryStatusCode.DELIVERED,
  failed: DeliveryStatusCode.FAILED,
} as const satisfies Record<DeliveryStatus, DeliveryStatusCode>

const deliveryStatusNames = new Map<DeliveryStatusCode, DeliveryStatus>(
  Object.entries(deliveryStatusCodes).map(([name, code]) => [code, name as DeliveryStatus]),
)
const permissionNames = new Map<PermissionCode, Permission>(
  Object.entries(permissionCodes).map(([name, code]) => [code, name as Permission]),
)

/** The state of a delivery that a message names; undefined for unspecified or unknown. */
export function toDeliveryStatus(code: DeliveryStatusCode): DeliveryStatus | undefined {
  return deliveryStatusNames.get(code)
}

/** The permission that a message names; undefined for one that no key carries. */
export function toPermission(code: PermissionCode): Permission | undefined {
  return permissionNames.get(code)
}

/** The code of a permission in messages. */
export function toPermissionCode(permission: Permission): PermissionCode {
  return permissionCodes[permission]
}

/** The name of a message's permission; empty for one that no key carries. */
export function toPermissionName(code: PermissionCode): string {
  return permissionNames.get(code) ?? ''
}

/** Milliseconds of an optional time. */
export function toMs(time: Timestamp | undefined): number | null {
  return time ? timestampMs(time) : null
}

export function toModalityCode(modality: Modality): ModalityCode {
  return modalityCodes[modality]
}

export function toQuoteMessage(quoteId: string, quote: Quote): MessageInitShape<typeof QuoteSchema> {
  return { quoteId, model: quote.model, credits: BigInt(quote.credits), expiresAt: timestampFromMs(quote.expiresAtMs) }
}

export function toFileMessage(upload: Upload, urls: AssetUrls): MessageInitShape<typeof FileSchema> {
  return {
    fileId: upload.fileId,
    url: urls.signUntil(upload.key, upload.expiresAtMs),
    contentType: upload.contentType,
    bytes: BigInt(upload.bytes),
    sha256: upload.sha256,
    createdAt: timestampFromMs(upload.createdAtMs),
    expiresAt: timestampFromMs(upload.expiresAtMs),
  }
}

/**
 * The message of a model.
 * @param baseUrl what paths of samples are below
 * @param inputs whether its samples have their inputs
 */
export function toModelMessage(model: Model, baseUrl: string, inputs: boolean): ModelMessage {
  return create(ModelSchema, {
    id: model.id,
    created: timestampFromMs(model.createdAtMs),
    ownedBy: model.ownedBy,
    name: model.name,
    description: model.description,
    category: model.category,
    product: model.product,
    mode: model.mode,
    modality: modalityCodes[model.modality],
    pricing: {
      billing: model.billing === 'fixed' ? Billed.FIXED : Billed.USAGE,
      summary: model.priceSummary,
      fromCredits: BigInt(model.fromCredits),
    },
    samples: model.samples.map((sample) => toSampleMessage(sample, baseUrl, inputs)),
    ...(model.version !== null && { version: model.version }),
    ...(model.released !== null && { released: model.released }),
    ...(model.shutdownDate !== null && { shutdownDate: model.shutdownDate }),
    ...(model.replacedBy !== null && { replacedBy: model.replacedBy }),
  })
}

/** A near end as a field of an answer. */
export function toModelEndField(end: ModelEnd | null): { modelEnd?: MessageInitShape<typeof ModelEndSchema> } {
  if (end === null) return {}
  const { deprecatedAtMs, shutdownAtMs, replacedBy } = end
  return {
    modelEnd: {
      deprecatedAt: timestampFromMs(deprecatedAtMs),
      shutdownAt: timestampFromMs(shutdownAtMs),
      ...(replacedBy !== null && { replacedBy }),
    },
  }
}

function toSampleMessage(sample: Sample, baseUrl: string, inputs: boolean): MessageInitShape<typeof SampleSchema> {
  const { title, url, contentType, width, height, durationSeconds, previewUrl, input } = sample
  const locate = (place: string): string => (place.startsWith('/') ? baseUrl + place : place)
  return {
    title,
    url: locate(url),
    contentType,
    ...(width !== null && { width }),
    ...(height !== null && { height }),
    ...(durationSeconds !== null && { durationSeconds }),
    ...(previewUrl !== null && { previewUrl: locate(previewUrl) }),
    ...(inputs && { input }),
  }
}

export function toEntryMessage(entry: LedgerEntry): MessageInitShape<typeof EntrySchema> {
  return {
    entryId: entry.entryId,
    kind: entryKindCodes[entry.kind],
    credits: BigInt(entry.credits),
    ...(entry.jobId !== null && { jobId: entry.jobId }),
    availableAfter: BigInt(entry.availableAfter),
    heldAfter: BigInt(entry.heldAfter),
    ...(entry.keyId !== null && { keyId: entry.keyId }),
    ...(entry.keyName !== null && { keyName: entry.keyName }),
    ...(entry.note !== null && { note: entry.note }),
    ...(entry.reference !== null && { reference: entry.reference }),
    createdAt: timestampFromMs(entry.createdAtMs),
    ...(entry.hash !== null && { hash: entry.hash }),
    ...(entry.previousHash !== null && { previousHash: entry.previousHash }),
  }
}

export function toWebhookMessage(webhook: Webhook): MessageInitShape<typeof WebhookSchema> {
  return {
    webhookId: webhook.webhookId,
    accountId: webhook.accountId,
    url: webhook.url,
    ...(webhook.description !== null && { description: webhook.description }),
    createdAt: timestampFromMs(webhook.createdAtMs),
    ...(webhook.disabledAtMs !== null && { disabledAt: timestampFromMs(webhook.disabledAtMs) }),
    includeInput: webhook.includeInput,
  }
}

export function toAttemptMessage({
  attemptedAtMs,
  responseStatus,
  error,
  durationMs,
}: DeliveryAttempt): MessageInitShape<typeof DeliveryAttemptSchema> {
  return {
    attemptedAt: timestampFromMs(attemptedAtMs),
    ...(responseStatus !== null && { responseStatus }),
    ...(error !== null && { error }),
    durationSeconds: durationMs / 1000,
  }
}

export function toDeliveryMessage(delivery: Delivery): MessageInitShape<typeof DeliverySchema> {
  return {
    deliveryId: delivery.deliveryId,
    webhookId: delivery.webhookId,
    accountId: delivery.accountId,
    url: delivery.url,
    jobId: delivery.jobId,
    type: delivery.event,
    status: deliveryStatusCodes[delivery.status],
    attempts: delivery.attempts.map(toAttemptMessage),
    ...(delivery.error !== null && { error: delivery.error }),
    ...(delivery.nextAttemptAtMs !== null && { nextAttemptAt: timestampFromMs(delivery.nextAttemptAtMs) }),
    createdAt: timestampFromMs(delivery.createdAtMs),
    ...(delivery.finishedAtMs !== null && { finishedAt: timestampFromMs(delivery.finishedAtMs) }),
  }
}

export function toAccountMessage(account: Account): MessageInitShape<typeof AccountSchema> {
  return {
    accountId: account.accountId,
    name: account.name,
    available: BigInt(account.available),
    held: BigInt(account.held),
    createdAt: timestampFromMs(account.createdAtMs),
    limits: toLimitsMessage(account.limits),
    status: accountStatusCodes[account.status],
    ...(account.statusReason !== null && { statusReason: account.statusReason }),
    ...(account.statusChangedAtMs !== null && { statusChangedAt: timestampFromMs(account.statusChangedAtMs) }),
  }
}

export function toAuditMessage(entry: AuditEntry): MessageInitShape<typeof AuditEntrySchema> {
  const { actor, before, after } = entry
  return {
    entryId: entry.entryId,
    createdAt: timestampFromMs(entry.createdAtMs),
    actor: {
      ...(actor.kind === 'key' && { keyId: actor.keyId, accountId: actor.accountId }),
      ...(actor.kind === 'command_line' && { osUser: actor.osUser }),
    },
    act: entry.act,
    subject: entry.subject,
    accountId: entry.accountId ?? '',
    ...(before && { before }),
    ...(after && { after }),
  }
}

/** The parts of a key that its owner may see. */
export function toAccess(key: ApiKey) {
  return {
    keyId: key.keyId,
    accountId: key.accountId,
    permissions: key.permissions.map((permission) => permissionCodes[permission]),
    ...(key.expiresAtMs !== null && { expiresAt: timestampFromMs(key.expiresAtMs) }),
  }
}

export function toKeyMessage(key: ApiKey): MessageInitShape<typeof KeySchema> {
  return {
    ...toAccess(key),
    ...(key.name !== null && { name: key.name }),
    prefix: key.prefix,
    createdAt: timestampFromMs(key.createdAtMs),
    ...(key.revokedAtMs !== null && { revokedAt: timestampFromMs(key.revokedAtMs) }),
    ...(key.lastUsedAtMs !== null && { lastUsedAt: timestampFromMs(key.lastUsedAtMs) }),
    limits: toLimitsMessage(key.limits),
    ...(key.makerId !== null && { madeBy: key.makerId }),
  }
}

/** @param terms what sessions depend on now; null if that is not known */
export function toSessionMessage(session: Session, terms: string | null): MessageInitShape<typeof SessionSchema> {
  const { sessionId, keyId, accountId, name, createdAtMs, expiresAtMs, lastSeenAtMs, address, browser } = session
  return {
    sessionId,
    keyId,
    accountId,
    ...(name !== null && { name }),
    createdAt: timestampFromMs(createdAtMs),
    expiresAt: timestampFromMs(expiresAtMs),
    ...(session.revokedAtMs !== null && { revokedAt: timestampFromMs(session.revokedAtMs) }),
    ...(lastSeenAtMs !== null && { lastSeenAt: timestampFromMs(lastSeenAtMs) }),
    ...(address !== null && { address }),
    ...(browser !== null && { browser }),
    ofOtherRules: terms !== null && session.terms !== terms,
  }
}
