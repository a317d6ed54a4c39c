// The operator's commands about sessions of people who signed in.
import type { Command } from 'commander'
import { type Session, SessionSchema } from '../../../gen/mediagen/v1/admin_pb.ts'
import { StartupError } from '../../core/errors.ts'
import { escapeHidden } from '../../core/text/hidden-characters.ts'
import { toRecord } from '../../gateway/records.ts'
import type { Printed } from '../user/print.ts'
import { addWideOption, changing, looking, readAll } from './common/act.ts'
import { withExample } from './common/examples.ts'
import { findAccountFilter, readAccountNames, withAccounts } from './common/find-account.ts'
import type { Admin } from './common/installation.ts'
import { countAll, nameKey } from './common/words.ts'
import { toPrintedKey } from './keys.ts'

const columns = ['session_id', 'name', 'account', 'created_at', 'last_seen_at', 'expires_at']

interface ListOptions {
  readonly account?: string
  readonly working?: boolean
}

/** Adds the commands. */
export function addSessionCommands(parent: Command): void {
  const sessions = parent.command('sessions').description('Sessions of people who signed in')
  addWideOption(
    withExample(sessions.command('list'), '--account "Press office"')
      .description('List sessions, without their text')
      .option('--account <account>', 'only sessions of this account, by id or name')
      .option(
        '--working',
        'only sessions that work: not those that have ended, or whose rules of sign-in were changed',
      ),
  ).action(
    looking(async ({ admin }, { account, working = false }: ListOptions, _command: Command) => {
      const accountId = await findAccountFilter(admin, account)
      const all = await readAll('sessions', (page) => admin.listSessions({ accountId, working, ...page }))
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
  withExample(sessions.command('end <person>'), 'anna@example.com --with-keys')
    .description('End all sessions of a person, by their name or the id of their key; they can sign in again')
    .option('--with-keys', 'revoke the keys that they made, too')
    .action(
      changing(async ({ admin }, person: string, { withKeys = false }: { withKeys?: boolean }, _command: Command) => {
        const { keyId, name } = await findPerson(admin, person)
        const { sessions: ended, keys } = await admin.endSessions({ keyId, withKeys })
        const words = `Ended ${countAll(ended, 'session')} of ${escapeHidden(name ?? keyId)}${withKeys ? ` and revoked ${countAll(keys, 'key')}` : ''}: they stop working within one second.\n`
        return { json: { key_id: keyId, sessions: ended, keys }, words }
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

/** @throws StartupError when nobody of this name has signed in within a month, or several have */
async function findPerson(admin: Admin, written: string): Promise<Pick<Session, 'keyId' | 'name'>> {
  if (/^key_\w+$/.test(written)) return { keyId: written }
  const all = await readAll('sessions', (page) => admin.listSessions(page))
  const named = all.filter(({ name }) => name === written)
  // Who moved to another account was another key there.
  const current = named.filter(({ revokedAt }) => !revokedAt)
  const people = new Map((current.length > 0 ? current : named).map((session) => [session.keyId, session]))
  const [person] = people.values()
  const quoted = `"${escapeHidden(written)}"`
  if (person === undefined)
    throw new StartupError(`Nobody called ${quoted} has signed in; “mediagen admin sessions list” shows who has.`)
  if (people.size > 1)
    throw new StartupError(`${people.size} people are called ${quoted}; give an id: ${[...people.keys()].join(', ')}.`)
  return person
}

function toPrinted(session: Session | undefined): Printed {
  return toRecord(SessionSchema, session)
}
