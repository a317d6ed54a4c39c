// What an operator does with sessions of people: end one, or all of a person.
import type { Session } from '../../gen/mediagen/v1/admin_pb.ts'
import { nameBrowser } from '../browser-name.ts'
import { element } from '../element.ts'
import type { PageDeps } from './deps.ts'
import { openAct } from './dialog.ts'
import { agreeField } from './fields.ts'
import { countOf } from './words.ts'

/** Who a session belongs to. */
export function personOf({ name, keyId }: Session): string {
  return name ?? keyId
}

/** Asks whether to end a session. */
export function openEndSession({ admin }: PageDeps, session: Session, isOwn: boolean, done: () => void): void {
  openAct({
    title: `End the session of ${personOf(session)}`,
    intro: [
      `${nameBrowser(session.browser)} is signed out within a second. The person can sign in again.`,
      ...(isOwn ? ['This is your own session: you sign yourself out.'] : []),
    ],
    label: 'End the session',
    isFinal: true,
    async run() {
      await admin.revokeSession({ sessionId: session.sessionId })
    },
    done,
  })
}

/** Asks whether to end all sessions of a person, and their keys. */
export function openEndSessions({ admin }: PageDeps, session: Session, isOwn: boolean, done: () => void): void {
  const withKeys = agreeField('Revoke the API keys that this person made, too', false)
  openAct({
    title: `End all sessions of ${personOf(session)}`,
    intro: [
      'Every browser of this person is signed out within a second. The person can sign in again, if the rules of sign-in admit them; revoke their key to keep them out.',
      'Do this when a group or an address was taken away at the provider: this server knows it at the next sign-in only.',
      ...(isOwn ? ['This is you: you sign yourself out.'] : []),
    ],
    fields: [withKeys],
    label: 'End all sessions',
    isFinal: true,
    async run() {
      const { sessions, keys } = await admin.endSessions({ keyId: session.keyId, withKeys: withKeys.read() })
      const revoked = keys > 0 ? ` ${countOf(keys, 'key')} ${keys === 1 ? 'was' : 'were'} revoked.` : ''
      return element('p', {}, `${countOf(sessions, 'session')} ended.${revoked}`)
    },
    done,
  })
}
