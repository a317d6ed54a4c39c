// The table of everything that the writer thread can do, by name.
import { createAccountCommands } from './accounts.ts'
import { createAuditCommands } from './audit.ts'
import { createClaimCommands } from './claims.ts'
import { createCancelCommands } from './cancellations.ts'
import { createKeyCommands } from './keys.ts'
import { createSigningKeyCommands } from './signing-keys.ts'
import { createStartCommands } from './starts.ts'
import { createDeliveryCommands } from './deliveries.ts'
import { createWebhookCommands } from './webhook-endpoints.ts'
import { createRetentionCommands } from './retention.ts'
import { createSweepCommands } from './sweeps.ts'
import { createUploadCommands } from './uploads.ts'
import type { Writing } from './writing.ts'

/** Creates the commands; each is called inside a transaction. */
export function createCommands(writing: Writing) {
  const dataVersion = writing.db.prepare<[], number>('PRAGMA data_version').pluck()
  return {
    ...createAccountCommands(writing),
    ...createKeyCommands(writing),
    ...createSigningKeyCommands(writing),
    ...createStartCommands(writing),
    ...createClaimCommands(writing),
    ...createCancelCommands(writing),
    ...createWebhookCommands(writing),
    ...createDeliveryCommands(writing),
    ...createSweepCommands(writing),
    /** What SQLite counts of changes by others: only the writer's own connection knows which changes are its own. */
    changeCounter: (): number => dataVersion.get() ?? 0,
    ...createUploadCommands(writing),
    ...createRetentionCommands(writing),
    ...createAuditCommands(writing),
    /** Writes a number of the file's head as it is: asks disk and locks as any change does, and changes nothing. */
    check(): void {
      const version = Number(writing.db.pragma('user_version', { simple: true }))
      writing.db.pragma(`user_version = ${version}`)
    },
  }
}

export type Commands = ReturnType<typeof createCommands>
export type CommandName = keyof Commands
