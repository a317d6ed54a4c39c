// The browsers in which a person is signed in, with a way to sign out of each.
import { isAbort } from '../api.ts'
import { nameBrowser } from '../browser-name.ts'
import { button, element } from '../element.ts'
import { describeAge, moment } from '../moment.ts'
import { problemNotice } from '../problem-notice.ts'
import { endSession, readSignIn } from '../sign-in.ts'
import type { ViewDeps } from '../view-deps.ts'
import { filled } from './account-page.ts'

/** A session as the server lists it to its person. */
interface SessionRecord {
  readonly session_id: string
  readonly created_at: string
  readonly expires_at: string
  readonly last_seen_at: string | null
  readonly address: string | null
  readonly browser: string | null
}

/** Fills an element with the sessions of the person. */
export function fillSessions({ api, signal }: ViewDeps, body: HTMLElement): () => Promise<void> {
  const trouble = element('div', {})
  const list = element('div', {})

  async function read() {
    const [{ sessions }, { session_id: own }] = await Promise.all([
      api.get<{ readonly sessions: readonly SessionRecord[] }>('/sign-in/sessions', { signal }),
      readSignIn(),
    ])
    return { sessions, own }
  }
  const load = filled(list, read, ({ sessions, own }) => [
    element('ul', { class: 'session-list' }, ...sessions.map((session) => toItem(session, session.session_id === own))),
  ])

  async function signOut(sessionId: string, isOwn: boolean, clicked: HTMLButtonElement): Promise<void> {
    clicked.disabled = true
    trouble.replaceChildren()
    try {
      if (isOwn) {
        await endSession()
        location.reload()
      } else {
        await api.remove(`/sign-in/sessions/${sessionId}`, { signal })
        await load()
      }
    } catch (error) {
      if (!isAbort(error)) trouble.replaceChildren(problemNotice(error))
      clicked.disabled = false
    }
  }
  function toItem(
    { session_id, created_at, last_seen_at, address, browser }: SessionRecord,
    isOwn: boolean,
  ): HTMLElement {
    const name = nameBrowser(browser)
    const end = button('Sign out', () => void signOut(session_id, isOwn, end), { look: 'quiet small' })
    end.setAttribute(
      'aria-label',
      `Sign out ${name}, ${isOwn ? 'this browser' : `signed in ${created_at.slice(0, 16)}`}`,
    )
    const seen =
      last_seen_at === null ? null : (describeAge(Date.parse(last_seen_at), Date.now()) ?? last_seen_at.slice(0, 10))
    return element(
      'li',
      {},
      element(
        'div',
        {},
        element('strong', { title: browser ?? '' }, name),
        isOwn ? element('span', { class: 'badge' }, 'this browser') : null,
        element(
          'p',
          { class: 'fine' },
          'since ',
          moment(created_at),
          address === null ? '' : ` from ${address}`,
          isOwn || seen === null ? '' : `, last seen ${seen}`,
        ),
      ),
      end,
    )
  }
  body.append(trouble, list)
  return load
}
