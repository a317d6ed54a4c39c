// Starts the operator's console at /admin: finds out who the operator is, then shows the page that the URL names.
import { checkOperator, createAdmin } from './admin/client.ts'
import type { PageDeps } from './admin/deps.ts'
import { watchJobs } from './admin/job-events.ts'
import { AccountNames } from './admin/names.ts'
import { accountPage } from './admin/pages/account.ts'
import { accountsPage } from './admin/pages/accounts.ts'
import { auditPage } from './admin/pages/audit.ts'
import { filesPage } from './admin/pages/files.ts'
import { jobPage } from './admin/pages/job.ts'
import { jobsPage } from './admin/pages/jobs.ts'
import { keysPage } from './admin/pages/keys.ts'
import { modelsPage } from './admin/pages/models.ts'
import { overviewPage } from './admin/pages/overview.ts'
import { reviewsPage } from './admin/pages/reviews.ts'
import { sessionsPage } from './admin/pages/sessions.ts'
import { usagePage } from './admin/pages/usage.ts'
import { webhooksPage } from './admin/pages/webhooks.ts'
import { type PageName, pageNames, parseRoute, toHash } from './admin/route.ts'
import { signInPage } from './admin/sign-in.ts'
import { settleKey } from './arrived-key.ts'
import { button, element } from './element.ts'
import { takeKey } from './route.ts'
import { followOtherTabs, forgetEverything } from './session.ts'
import { endSession, readSignIn } from './sign-in.ts'

const main = document.querySelector<HTMLElement>('#main') as HTMLElement
const bar = document.querySelector<HTMLElement>('#navigation') as HTMLElement
const account = document.querySelector<HTMLElement>('#account') as HTMLElement

const titles: { readonly [page in PageName]: string } = {
  overview: 'Overview',
  accounts: 'Accounts',
  keys: 'Keys',
  sessions: 'Sessions',
  usage: 'Usage',
  jobs: 'Jobs',
  reviews: 'Reviews',
  models: 'Models & providers',
  webhooks: 'Webhooks',
  files: 'Files',
  audit: 'Audit log',
}
const pages: { readonly [page in PageName]: (deps: PageDeps) => HTMLElement } = {
  overview: overviewPage,
  accounts: (deps) => (deps.route.id === '' ? accountsPage(deps) : accountPage(deps)),
  keys: keysPage,
  sessions: sessionsPage,
  usage: usagePage,
  jobs: (deps) => (deps.route.id === '' ? jobsPage(deps) : jobPage(deps)),
  reviews: reviewsPage,
  models: modelsPage,
  webhooks: webhooksPage,
  files: filesPage,
  audit: auditPage,
}

let leaving = new AbortController()
let session = new AbortController()
/** Who is signed in without a key. */
let person: string | null = null

function showSignIn(refusal?: unknown): void {
  leaving.abort()
  session.abort()
  account.replaceChildren()
  document.title = 'Administration · mediagen'
  main.replaceChildren(signInPage(openSession, refusal))
}

/**
 * @param key null for a person whom the browser's cookie names
 * @param name of this person
 */
function openSession(key: string | null, name: string | null = null): void {
  person = name
  session.abort()
  session = new AbortController()
  const { signal } = session
  const admin = createAdmin(key, (refused) => {
    if (signal.aborted) return
    forgetEverything()
    showSignIn(refused)
  })
  void watchJobs(admin, signal)
  const names = new AccountNames(admin)
  const who = name === null ? [] : [element('span', { class: 'person', title: name }, name)]
  account.replaceChildren(
    ...who,
    button('Sign out', () => void signOut(), { icon: 'leave', look: 'bare square', wordless: true }),
  )
  const links = pageNames.map((page) => element('a', { href: toHash(page), 'data-page': page }, titles[page]))
  const place = element('div', { class: 'admin-place' })
  main.replaceChildren(
    element(
      'div',
      { class: 'admin' },
      element('nav', { class: 'admin-nav', 'aria-label': 'Administration' }, ...links),
      place,
    ),
  )
  const show = (focus: boolean): void => {
    leaving.abort()
    leaving = new AbortController()
    const route = parseRoute(location.hash)
    for (const link of links) {
      const isCurrent = link.dataset['page'] === route.page
      if (isCurrent) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
      if (isCurrent) link.scrollIntoView({ block: 'nearest', inline: 'center' })
    }
    place.replaceChildren(
      route.page === 'nowhere' ? nowherePage() : pages[route.page]({ admin, names, route, signal: leaving.signal }),
    )
    if (!focus) return
    scrollTo(0, 0)
    main.focus({ preventScroll: true })
  }
  const onHashChange = (): void => {
    if (!takeKey(location.hash)) show(true)
  }
  addEventListener('hashchange', onHashChange, { signal })
  show(false)
}

function nowherePage(): HTMLElement {
  document.title = 'No such page · Administration · mediagen'
  return element(
    'section',
    {},
    element('header', { class: 'page-head' }, element('h1', {}, 'There is no such page.')),
    element('p', {}, element('a', { href: '#/' }, 'Go to the overview')),
  )
}

async function signOut(): Promise<void> {
  if (person !== null) await endSession()
  forgetEverything()
  history.replaceState(null, '', '#/')
  showSignIn()
}

async function start(): Promise<void> {
  const { key, refusal } = await settleKey(checkOperator)
  if (key !== null) return openSession(key)
  if (refusal !== undefined) return showSignIn(refusal)
  const { person: found } = await readSignIn()
  if (found === null) return showSignIn()
  try {
    await checkOperator(null)
    openSession(null, found)
  } catch (error) {
    showSignIn(error)
  }
}

async function leaveWithOtherTabs(): Promise<void> {
  if (account.childElementCount === 0 || (person !== null && (await readSignIn()).person !== null)) return
  showSignIn()
}

const brand = document.querySelector<HTMLAnchorElement>('.brand')
if (brand) {
  brand.href = '#/'
  brand.setAttribute('aria-label', 'mediagen administration, overview')
  brand.querySelector('span')?.replaceChildren('mediagen ', element('em', {}, 'Administration'))
}
bar.remove()
document.querySelector('.skip')?.addEventListener('click', (event) => {
  // The URL fragment is the page; following the link would change it.
  event.preventDefault()
  main.focus()
})
// A link with a key was opened in this tab.
addEventListener('hashchange', () => {
  if (takeKey(location.hash)) void start()
})
followOtherTabs(openSession, () => void leaveWithOtherTabs())
void start()
