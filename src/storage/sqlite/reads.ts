// All reads of a connection, and the names of those that may take long.
import { createAccountReads } from './accounts.ts'
import { createAuditReads } from './audit.ts'
import type { Connection } from './connection.ts'
import { createDeliveryReads } from './deliveries.ts'
import { createJobReads } from './jobs.ts'
import { createKeyReads } from './keys.ts'
import { createLeaderReads } from './leaders.ts'
import { createLedgerReads } from './ledger.ts'
import { createProviderReads } from './providers.ts'
import { createRetentionReads } from './retention.ts'
import { createSigningKeyReads } from './signing-keys.ts'
import { createSweepReads } from './sweeps.ts'
import { createUploadReads } from './uploads.ts'
import { createLedgerChecks } from './verify.ts'
import { createWebhookReads } from './webhook-endpoints.ts'

export function createReads(db: Connection, nowMs: () => number) {
  return {
    ...createAccountReads(db),
    ...createKeyReads(db, nowMs),
    ...createSigningKeyReads(db),
    ...createLedgerReads(db),
    ...createAuditReads(db),
    ...createJobReads(db, nowMs),
    ...createWebhookReads(db),
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
  `list${string}` | 'searchPiece' | 'measureBacklog' | 'verifyLedger' | 'readLedgerRoot'
>
