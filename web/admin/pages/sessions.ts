// Who is signed in: since when, where, when they were last seen, until when.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Session } from '../../../gen/mediagen/v1/admin_pb.ts'
import { nameBrowser } from '../../browser-name.ts'
import { button, element } from '../../element.ts'
import { readSignIn } from '../../sign-in.ts'
import { pageFrame, type PageDeps } from '../deps.ts'
import { createFilters } from '../filters.ts'
import { createLiveTable, type LiveTable } from '../live-table.ts'
import { openEndSession, openEndSessions, personOf } from '../session-acts.ts'
import { emptyNote } from '../table.ts'
import { badge, codeOf, formatDistance, type StateWords, timeOf } from '../words.ts'

export function sessionsPage(deps: PageDeps): HTMLElement {
  const { admin, names, route } = deps
  const signIn = readSignIn()
  let own: string | null = null
  const refresh = (): void => void table.refresh()
  const toActs = (session: Session): HTMLElement => {
    const isOwn = session.sessionId === own
    const end = button('End', () => openEndSession(deps, session, isOwn, refresh), { look: 'quiet small' })
    const endAll = button('End all', () => openEndSessions(deps, session, isOwn, refresh), { look: 'quiet small' })
    endAll.title = 'End all sessions of this person'
    return element('span', { class: 'row-actions' }, end, endAll)
  }
  const filters = createFilters(
    'sessions',
    route.query,
    [
      { name: 'account', label: 'Account', options: names.all(), all: 'All accounts' },
      { name: 'show', label: 'Sessions', options: [['all', 'Ended ones, too']], all: 'That work' },
    ],
    () => table.restart(),
  )
  const table: LiveTable = createLiveTable<Session>(deps, {
    label: 'Sessions',
    noun: ['session', 'sessions'],
    keyOf: ({ sessionId }) => sessionId,
    columns: [
      {
        title: 'Person',
        kind: 'name',
        cell: (session) => [
          element('strong', {}, personOf(session)),
          session.sessionId === own ? ' ' : null,
          session.sessionId === own ? badge({ word: 'you, here', tone: 'busy' }) : null,
          codeOf(session.sessionId),
        ],
      },
      { title: 'Account', kind: 'name', cell: ({ accountId }) => names.link(accountId) },
      {
        title: 'Browser',
        kind: 'name',
        cell: ({ browser, address }) => [
          element('span', { title: browser ?? '' }, nameBrowser(browser)),
          element('span', { class: 'fine' }, address ? `from ${address}` : 'from an unknown address'),
        ],
      },
      { title: 'Signed in', cell: ({ createdAt }) => timeOf(createdAt) },
      { title: 'Last seen', cell: ({ lastSeenAt }) => timeOf(lastSeenAt, 'not yet') },
      {
        title: 'State',
        cell: (session) => [
          badge(describeState(session)),
          session.expiresAt && isWorking(session)
            ? element('span', { class: 'fine nowrap' }, `ends ${formatDistance(session.expiresAt)}`)
            : null,
        ],
      },
      {
        title: 'Actions',
        kind: 'acts',
        cell: (session) => (isWorking(session) ? toActs(session) : null),
      },
    ],
    empty: () =>
      emptyNote(
        filters.get('show') === 'all' ? 'Nobody has signed in within a month.' : 'Nobody is signed in.',
        element(
          'span',
          { class: 'fine' },
          'People sign in where ',
          element('code', {}, 'MEDIAGEN_OIDC_ISSUER'),
          ' names an OpenID provider; programs and everybody else use keys.',
        ),
      ),
    async read(page, signal) {
      const filter = { accountId: filters.get('account'), working: filters.get('show') !== 'all' }
      const [{ sessions, total }, state] = await Promise.all([
        admin.listSessions({ ...filter, ...page }, { signal }),
        signIn,
      ])
      own = state.session_id
      await names.learn(sessions.map(({ accountId }) => accountId))
      return { rows: sessions, total }
    },
  })
  return pageFrame(
    'Sessions',
    { lead: 'People who signed in at the provider. Each browser in which they did is a session.' },
    filters.element,
    table.element,
  )
}

function isWorking({ revokedAt, expiresAt, ofOtherRules }: Session): boolean {
  return !revokedAt && !ofOtherRules && expiresAt !== undefined && timestampMs(expiresAt) > Date.now()
}

function describeState(session: Session): StateWords {
  if (isWorking(session)) return { word: 'signed in', tone: 'good' }
  if (session.revokedAt) return { word: 'ended', tone: 'still' }
  return { word: session.ofOtherRules ? 'of earlier rules' : 'expired', tone: 'still' }
}
