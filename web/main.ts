// Starts the console: asks for the key, then shows the view that the URL names; the bar stays.
import { accountView } from './account/account-view.ts'
import { keysView } from './account/keys-view.ts'
import { usageView } from './account/usage-view.ts'
import { walletView } from './account/wallet-view.ts'
import { webhooksView } from './account/webhooks-view.ts'
import { createApi } from './api.ts'
import { settleKey } from './arrived-key.ts'
import { Balance } from './balance.ts'
import { catalogView } from './catalog-view.ts'
import { Catalog } from './catalog.ts'
import { button, element } from './element.ts'
import { jobPage } from './job-page.ts'
import { keyView } from './key-view.ts'
import { libraryView } from './library-view.ts'
import { remixPage } from './remix-page.ts'
import { parseRoute, type Route, takeKey } from './route.ts'
import { followOtherTabs, forgetEverything } from './session.ts'
import { endSession, noKey, readSignIn } from './sign-in.ts'
import { studioView } from './studio-view.ts'
import { uploadsView } from './uploads-view.ts'
import { variationsView } from './variations-view.ts'
import type { ViewDeps } from './view-deps.ts'
import { walletBadge } from './wallet-badge.ts'

const main = document.querySelector<HTMLElement>('#main') as HTMLElement
const navigation = document.querySelector<HTMLElement>('#navigation') as HTMLElement
const account = document.querySelector<HTMLElement>('#account') as HTMLElement

const views: {
  readonly [View in Route['view']]: (route: Extract<Route, { view: View }>, deps: ViewDeps) => HTMLElement
} = {
  models: (_route, deps) => catalogView(deps),
  model: ({ id }, deps) => studioView(deps, id),
  library: (_route, deps) => libraryView(deps),
  uploads: (_route, deps) => uploadsView(deps),
  account: (_route, deps) => accountView(deps),
  usage: (_route, deps) => usageView(deps),
  wallet: (_route, deps) => walletView(deps),
  keys: (_route, deps) => keysView(deps),
  webhooks: (_route, deps) => webhooksView(deps),
  job: ({ id }, deps) => jobPage(deps, id),
  remix: ({ id }, deps) => remixPage(deps, id),
  variations: ({ id }, deps) => variationsView(deps, id),
  nowhere: nowherePage,
}

/** The navigation entry of a view that has none itself. */
const places: { readonly [View in Route['view']]?: string } = {
  job: 'library',
  uploads: 'library',
  variations: 'library',
  model: 'models',
  usage: 'account',
  wallet: 'account',
  keys: 'account',
  webhooks: 'account',
  remix: 'models',
}

function nowherePage(): HTMLElement {
  document.title = 'No such page · mediagen'
  return element(
    'section',
    {},
    element('header', { class: 'page-head' }, element('h1', {}, 'There is no such page.')),
    element('p', {}, element('a', { href: '#/' }, 'See the models')),
  )
}

let leaving = new AbortController()
let session = new AbortController()
/** Who is signed in without a key. */
let person: string | null = null

function showKeyView(refusal?: unknown): void {
  leaving.abort()
  session.abort()
  navigation.hidden = true
  account.replaceChildren()
  document.title = 'mediagen'
  main.replaceChildren(keyView(openSession, refusal))
}

/** @param name of the person who signed in without a key; null for a key */
function openSession(key: string, name: string | null = null): void {
  person = name
  session.abort()
  session = new AbortController()
  const { signal } = session
  const api = createApi(key, (refusal) => {
    if (signal.aborted) return
    forgetEverything()
    showKeyView(refusal)
  })
  const catalog = new Catalog(api)
  const balance = new Balance(api, signal)
  const leave = button('Sign out', () => void signOut(), { icon: 'leave', look: 'bare square', wordless: true })
  const who = name !== null && element('span', { class: 'person', title: name }, name)
  account.replaceChildren(walletBadge(balance, signal), ...(who ? [who] : []), leave)
  navigation.hidden = false

  const show = (focus: boolean): void => {
    leaving.abort()
    leaving = new AbortController()
    const route = parseRoute(location.hash)
    const deps: ViewDeps = { api, catalog, balance, signal: leaving.signal }
    for (const link of navigation.querySelectorAll('a')) {
      const current = link.dataset['view'] === (places[route.view] ?? route.view)
      if (current) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
    }
    main.replaceChildren((views[route.view] as (route: Route, deps: ViewDeps) => HTMLElement)(route, deps))
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

async function signOut(): Promise<void> {
  if (person !== null) await endSession()
  forgetEverything()
  location.hash = '#/'
  showKeyView()
}

async function start(): Promise<void> {
  const { key, refusal } = await settleKey()
  if (key) openSession(key)
  // A link with a key may have been opened while other tabs were asked.
  else if (navigation.hidden && !(await openOwnSession())) showKeyView(refusal)
}

/** Begins as the person who is signed in; false if nobody is. */
async function openOwnSession(): Promise<boolean> {
  const { person: found } = await readSignIn()
  if (found !== null && navigation.hidden) openSession(noKey, found)
  return found !== null
}

async function leaveWithOtherTabs(): Promise<void> {
  if (navigation.hidden || (person !== null && (await readSignIn()).person !== null)) return
  location.hash = '#/'
  showKeyView()
  await openOwnSession()
}

document.querySelector('.skip')?.addEventListener('click', (event) => {
  // The URL fragment is the view; following the link would change it.
  event.preventDefault()
  main.focus()
})
// A link with a key was opened in this tab.
addEventListener('hashchange', () => {
  if (takeKey(location.hash)) void start()
})
followOtherTabs(openSession, () => void leaveWithOtherTabs())
addEventListener('unhandledrejection', (event) => {
  main.prepend(
    element(
      'div',
      { class: 'notice', role: 'alert' },
      `Something went wrong: ${event.reason instanceof Error ? event.reason.message : 'unknown error'}`,
    ),
  )
})
void start()
