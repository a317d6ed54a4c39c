// The frame of the pages about the account: their names as tabs, a heading, and parts that fill when their answer has come.
import { isAbort } from '../api.ts'
import { element } from '../element.ts'
import { problemNotice } from '../problem-notice.ts'
import { type Route, toHash } from '../route.ts'

const tabs = [
  ['account', 'Overview'],
  ['usage', 'Usage'],
  ['wallet', 'Credits'],
  ['keys', 'Keys'],
  ['webhooks', 'Webhooks'],
] as const satisfies readonly (readonly [Route['view'], string])[]

/** A page about the account. */
export function accountPage(
  view: (typeof tabs)[number][0],
  heading: Node | string,
  ...content: readonly (Node | string | null)[]
): HTMLElement {
  const name = tabs.find(([one]) => one === view)?.[1]
  document.title = `${view === 'account' ? 'Account' : name} · mediagen`
  const links = tabs.map(([one, words]) =>
    element('a', { href: toHash({ view: one }), 'aria-current': one === view ? 'page' : null }, words),
  )
  return element(
    'section',
    { class: 'account-page' },
    element('nav', { class: 'tabs', 'aria-label': 'Account' }, ...links),
    element('header', { class: 'page-head' }, typeof heading === 'string' ? element('h1', {}, heading) : heading),
    ...content,
  )
}

/**
 * Fills an element with what a request answers, or with a notice and a way to try again.
 * @returns loads it anew
 */
export function filled<Answer>(
  target: HTMLElement,
  request: () => Promise<Answer>,
  fill: (answer: Answer) => readonly (Node | string | null)[],
): () => Promise<void> {
  async function load(): Promise<void> {
    target.setAttribute('aria-busy', 'true')
    try {
      const answer = await request()
      target.replaceChildren(...fill(answer).filter((child) => child !== null))
    } catch (error) {
      if (isAbort(error)) return
      target.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load() }))
    }
    target.removeAttribute('aria-busy')
  }
  return load
}

/** A page or a part that has nothing yet, with the next step. */
export function nothingYet(title: string, words: string, ...steps: readonly (Node | null)[]): HTMLElement {
  return element(
    'div',
    { class: 'nothing-yet' },
    element('h2', {}, title),
    element('p', {}, words),
    element('div', { class: 'actions' }, ...steps),
  )
}
