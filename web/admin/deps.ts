// What every page of the operator's console gets, and how one is made.
import { element } from '../element.ts'
import { problemNotice } from '../problem-notice.ts'
import { type Admin, explainToOperator, toFailure } from './client.ts'
import type { AccountNames } from './names.ts'
import type { Route } from './route.ts'

/** What a page gets. */
export interface PageDeps {
  readonly admin: Admin
  readonly names: AccountNames
  readonly route: Route
  /** Aborts when the page is left. */
  readonly signal: AbortSignal
}

/** The frame of a page: its heading, what it is about, its buttons. */
export function pageFrame(
  title: string,
  { lead, actions = [], back }: { lead?: Node | string; actions?: readonly Node[]; back?: Node },
  ...content: readonly (Node | null)[]
): HTMLElement {
  document.title = `${title} · Administration · mediagen`
  return element(
    'section',
    { class: 'admin-page' },
    back ?? null,
    element(
      'header',
      { class: 'page-head' },
      element('div', {}, element('h1', {}, title), lead ? element('p', { class: 'lead' }, lead) : null),
      actions.length > 0 ? element('div', { class: 'page-actions' }, ...actions) : null,
    ),
    ...content,
  )
}

/** A part of a page under a heading of its own. */
export function section(title: string, ...content: readonly (Node | string | null)[]): HTMLElement {
  return element('section', { class: 'admin-section' }, element('h2', {}, title), ...content)
}

/** A place that shows the last failure in words, and nothing when all is well. */
export interface FailurePlace {
  readonly element: HTMLElement
  show(error: unknown): void
  /** Shows a failure to read what a part of the page waits for. */
  showFor(part: HTMLElement): (error: unknown) => void
}

/** Creates the place. */
export function failurePlace(retry?: () => void): FailurePlace {
  const place = element('div', { class: 'failure' })
  let shown = ''
  function show(error: unknown): void {
    const failure = toFailure(error)
    // The same failure, again and again, is announced once.
    const words = failure instanceof Error ? failure.message : ''
    if (words === shown && place.childElementCount > 0) return
    shown = words
    if (error === null) place.replaceChildren()
    else place.replaceChildren(problemNotice(failure, retry && { label: 'Try again', run: retry }, explainToOperator))
  }
  return {
    element: place,
    show,
    showFor: (part) => (error) => {
      part.removeAttribute('aria-busy')
      show(error)
    },
  }
}

/** Facts in two columns. */
export function factList(facts: readonly (readonly [string, Node | string | null])[]): HTMLElement {
  return element(
    'dl',
    { class: 'facts-list' },
    ...facts.flatMap(([name, value]) =>
      value === null ? [] : element('div', {}, element('dt', {}, name), element('dd', {}, value)),
    ),
  )
}
