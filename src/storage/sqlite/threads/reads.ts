// All reads of a connection, and the names of those that may take long.
import { createAccountReads } from '../accounts/accounts.ts'
import { createAuditReads } from '../accounts/audit.ts'
import { createKeyReads } from '../accounts/keys.ts'
import { createLedgerReads } from '../accounts/ledger.ts'
import { createSessionReads } from '../accounts/sessions.ts'
import { createUsageReads } from '../accounts/usage.ts'
import { createLedgerChecks } from '../accounts/verify.ts'
import type { Connection } from '../connection.ts'
import { createRetentionReads } from '../files/retention.ts'
import { createUploadReads } from '../files/uploads.ts'
import { createJobReads } from '../jobs/jobs.ts'
import { createSweepReads } from '../jobs/sweeps.ts'
import { createLeaderReads } from '../shared/leaders.ts'
import { createProviderReads } from '../shared/providers.ts'
import { createSigningKeyReads } from '../shared/signing-keys.ts'
import { createDeliveryReads } from '../webhooks/deliveries.ts'
import { createWebhookReads } from '../webhooks/webhook-endpoints.ts'

export function createReads(db: Connection, nowMs: () => number) {
  return {
    ...createAccountReads(db),
    ...createKeyReads(db, nowMs),
    ...createSessionReads(db, nowMs),
    ...createSigningKeyReads(db),
    ...createLedgerReads(db),
    ...createUsageReads(db),
    ...createAuditReads(db),
    ...createJobReads(db, nowMs),
    ...createWebhookReads(db, nowMs),
    ...createDeliveryReads(db, nowMs),
    ...createUploadReads(db, nowMs),
    ...createProviderReads(db),
    ...createRetentionReads(db, nowMs),
    ...createLeaderReads(db, nowMs),
    ...createSweepReads(db, nowMs),
    ...createLedgerChecks(db),
  }
}

export type Reads = ReturnType<typeof createReads>

/** Reads that count or skip any number of rows, and so never run on the thread of the event loop. */
export type LongRead = Extract<
  keyof Reads,
  `list${string}` | 'findAccounts' | 'searchPiece' | 'measureBacklog' | 'verifyLedger' | 'readLedgerRoot'
>
