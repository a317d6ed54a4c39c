// The operator's commands about sessions of people who signed in.
import type { Command } from 'commander'
import { type Session, SessionSchema } from '../../../gen/mediagen/v1/admin_pb.ts'
import { toRecord } from '../../gateway/records.ts'
import type { Printed } from '../user/print.ts'
import { addWideOption, changing, looking, readAll } from './common/act.ts'
import { withExample } from './common/examples.ts'
import { findAccountFilter, readAccountNames, withAccounts } from './common/find-account.ts'
import { nameKey } from './common/words.ts'
import { toPrintedKey } from './keys.ts'

const columns = ['session_id', 'name', 'account', 'created_at', 'expires_at']

/** Adds the commands. */
export function addSessionCommands(parent: Command): void {
  const sessions = parent.command('sessions').description('Sessions of people who signed in')
  addWideOption(
    withExample(sessions.command('list'), '--account "Press office"')
      .description('List sessions, without their text')
      .option('--account <account>', 'only sessions of this account, by id or name'),
  ).action(
    looking(async ({ admin }, { account }: { account?: string }, _command: Command) => {
      const accountId = await findAccountFilter(admin, account)
      const all = await readAll('sessions', (page) => admin.listSessions({ accountId, ...page }))
      const json = all.map(toPrinted)
      return { json, rows: withAccounts(json, await readAccountNames(admin)), columns }
    }),
  )
  withExample(sessions.command('revoke <session_id>'), 'sess_01m81n3zks1aywd0zq8a2ay3fy')
    .description('End a session everywhere within one second; `keys revoke` keeps the person out')
    .action(
      changing(async ({ admin }, sessionId: string, _options: object, _command: Command) => {
        const { session } = await admin.revokeSession({ sessionId })
        const words = `Ended the session ${sessionId} of ${session?.name ?? session?.keyId}: it stops working within one second.\n`
        return { json: toPrinted(session), words }
      }),
    )
  withExample(sessions.command('readmit <key_id>'), 'key_01m81n3zks1aywd0zq8a2ay3fy')
    .description('Let the person of a revoked key sign in again, as a new key')
    .action(
      changing(async ({ admin }, keyId: string, _options: object, _command: Command) => {
        const { key } = await admin.readmitPerson({ keyId })
        return { json: toPrintedKey(key), words: `The person of the key ${nameKey(key)} may sign in again.\n` }
      }),
    )
}

function toPrinted(session: Session | undefined): Printed {
  return toRecord(SessionSchema, session)
}
