// The operator's commands about the audit record.
import type { Command } from 'commander'
import type { AuditEntry } from '../../../gen/mediagen/v1/admin_pb.ts'
import { pageBounds } from '../../core/page.ts'
import { parsePageLimit } from '../user/counts.ts'
import type { Printed } from '../user/print.ts'
import { addWideOption, looking, toTime } from './common/act.ts'
import { withExample } from './common/examples.ts'
import { findAccountFilter } from './common/find-account.ts'

const defaultLimit = 50
const columns = ['created_at', 'actor', 'act', 'subject', 'after']

/** Adds the commands. */
export function addAuditCommands(parent: Command): void {
  const audit = parent.command('audit').description('What operators did')
  addWideOption(
    withExample(audit.command('list'), '--account "Press office"')
      .description('List what operators did, newest first: who, what, and what was before and after')
      .option('--account <account>', 'only acts that concern this account, by id or name')
      .option('--limit <acts>', `how many, at most ${pageBounds.largestLimit}`, parsePageLimit, defaultLimit),
  ).action(
    looking(async ({ admin }, { account, limit }: { account?: string; limit: number }, _command: Command) => {
      const accountId = await findAccountFilter(admin, account)
      const { entries } = await admin.listAuditEntries({ accountId, limit })
      return { json: entries.map(toPrintedEntry), rows: entries.map(toRow), columns }
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
