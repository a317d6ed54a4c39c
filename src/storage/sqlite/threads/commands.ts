// The table of the writer thread's commands, by name.
import { createAccountChanges } from '../accounts/account-changes.ts'
import { createAccountCommands } from '../accounts/accounts.ts'
import { createAuditCommands } from '../accounts/audit.ts'
import { createKeyCommands } from '../accounts/keys.ts'
import { createSessionCommands } from '../accounts/sessions.ts'
import { createForgetting, createRetentionCommands } from '../files/retention.ts'
import { createUploadCommands } from '../files/uploads.ts'
import { createCancelCommands } from '../jobs/cancellations.ts'
import { createClaimCommands } from '../jobs/claims.ts'
import { createPendingWorkCommands } from '../jobs/pending-work.ts'
import { createStartCommands } from '../jobs/starts.ts'
import { createSweepCommands } from '../jobs/sweeps.ts'
import { createLeaderCommands } from '../shared/leaders.ts'
import { createProviderCommands } from '../shared/providers.ts'
import { createRateCommands } from '../shared/rates.ts'
import { createSigningKeyCommands } from '../shared/signing-keys.ts'
import { createDeliveryCommands } from '../webhooks/deliveries.ts'
import { createWebhookCommands } from '../webhooks/webhook-endpoints.ts'
import type { Writing } from './writing.ts'

/** Creates the commands; each is called in a transaction. */
export function createCommands(writing: Writing) {
  return {
    ...createAccountCommands(writing),
    ...createAccountChanges(writing),
    ...createKeyCommands(writing),
    ...createSessionCommands(writing),
    ...createRateCommands(writing),
    ...createSigningKeyCommands(writing),
    ...createStartCommands(writing),
    ...createClaimCommands(writing),
    ...createCancelCommands(writing),
    ...createWebhookCommands(writing),
    ...createDeliveryCommands(writing),
    ...createSweepCommands(writing),
    ...createLeaderCommands(writing),
    ...createPendingWorkCommands(writing),
    ...createUploadCommands(writing),
    ...createProviderCommands(writing),
    ...createRetentionCommands(writing),
    ...createForgetting(writing),
    ...createAuditCommands(writing),
    /** Writes a number of the file's header unchanged: needs the disk and the lock like any write, but changes nothing. */
    check(): void {
      const version = Number(writing.db.pragma('user_version', { simple: true }))
      writing.db.pragma(`user_version = ${version}`)
    },
  }
}

export type Commands = ReturnType<typeof createCommands>
export type CommandName = keyof Commands

/** A command by its name, with its arguments. */
export interface Call {
  readonly name: CommandName
  readonly args: readonly unknown[]
}

const startName = 'startGenerations' satisfies CommandName

/** Runs commands in order; starts that follow one another run as one, which takes three quarters of the time. @returns their results */
export function runCommands(commands: Commands, calls: readonly Call[]): unknown[] {
  const results: unknown[] = []
  for (let first = 0, end = 0; first < calls.length; first = end) {
    end = first + 1
    const name = calls[first]?.name ?? startName
    if (name === startName) while (calls[end]?.name === startName) end += 1
    const together = calls.slice(first, end)
    const result = (commands[name] as (...args: unknown[]) => unknown)(...together.flatMap(({ args }) => args))
    if (together.length === 1) results.push(result)
    else for (const { args } of together) results.push((result as unknown[]).splice(0, args.length))
  }
  return results
}
