// The operator's commands about the audit record.
import type { Command } from 'commander'
import type { AuditEntry } from '../../gen/mediagen/v1/admin_pb.ts'
import { pageBounds } from '../core/page.ts'
import { toTime, withAdmin } from './admin.ts'
import { parsePageLimit } from './user/counts.ts'
import type { Printed } from './user/print.ts'

const defaultLimit = 50

/** Adds the commands. */
export function addAuditCommands(program: Command): void {
  program
    .command('audit')
    .description('What operators did')
    .command('list')
    .description('List what operators did, newest first: who, what, and what was before and after')
    .option('--account <id>', 'only acts that concern this account', '')
    .option('--limit <acts>', `how many, at most ${pageBounds.largestLimit}`, parsePageLimit, defaultLimit)
    .action(
      withAdmin(async (admin, { account, limit, json }: { account: string; limit: number; json?: boolean }) => {
        const { entries } = await admin.listAuditEntries({ accountId: account, limit })
        return entries.map(json ? toPrintedEntry : toRow)
      }),
    )
}

function toPrintedEntry(entry: AuditEntry): Printed {
  const { actor } = entry
  return {
    entry_id: entry.entryId,
    created_at: toTime(entry.createdAt),
    actor: {
      key_id: actor?.keyId || null,
      account_id: actor?.accountId || null,
      os_user: actor?.osUser || null,
    },
    act: entry.act,
    subject: entry.subject,
    account_id: entry.accountId || null,
    before: entry.before ?? null,
    after: entry.after ?? null,
  }
}

/** A flat record for a table. */
function toRow({ actor, before, after, ...entry }: AuditEntry): Printed {
  return {
    created_at: toTime(entry.createdAt),
    actor: actor?.keyId || actor?.osUser || 'server',
    act: entry.act,
    subject: entry.subject,
    account_id: entry.accountId || null,
    before: before ? JSON.stringify(before) : null,
    after: after ? JSON.stringify(after) : null,
  }
}
