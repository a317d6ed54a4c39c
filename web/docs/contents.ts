// The contents of the reference: every page by its group, and a search over all of them.
import { element, icon, uniqueId } from '../element.ts'
import type { Operation, Reference } from './document.ts'

/** A page of the reference. */
export interface Entry {
  readonly hash: string
  readonly title: string
  readonly badge: string
  readonly group: string
  /** What a search finds, in lower case. */
  readonly words: string
}

/** The entry of an operation or a webhook. */
export function toEntry({ id, method, title, group, words }: Operation): Entry {
  const isEvent = method === 'EVENT'
  return {
    hash: `#/${isEvent ? 'event' : 'operation'}/${id}`,
    title,
    badge: isEvent ? '' : method,
    group: isEvent ? 'Events' : group,
    words,
  }
}

export interface Contents {
  readonly element: HTMLElement
  /** Marks the page that is shown. */
  mark(hash: string): void
  /** Adds the models, once they are known. */
  add(entries: readonly Entry[]): void
}

/** Creates the contents. */
export function createContents(reference: Reference): Contents {
  const entries: Entry[] = [
    {
      hash: '#/',
      title: 'Overview',
      badge: '',
      group: 'Start',
      words: `overview ${reference.description}`.toLowerCase(),
    },
    ...reference.operations.map(toEntry),
  ]
  // Where it is not beside the page, it is folded.
  const wide = matchMedia('(min-width: 901px)')
  const field = element('input', {
    id: uniqueId('search'),
    class: 'input',
    type: 'search',
    placeholder: 'Search, or press /',
    autocomplete: 'off',
    'aria-label': 'Search the reference',
    oninput: () => draw(),
    onkeydown: openFirst,
  })
  const list = element('div', {})
  const count = element('p', { class: 'visually-hidden', role: 'status' })
  let current = '#/'

  function find(): Entry[] {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean)
    const score = (entry: Entry): number => Number(words.some((word) => entry.title.toLowerCase().includes(word)))
    return entries
      .filter((entry) => words.every((word) => entry.words.includes(word)))
      .toSorted((one, other) => (words.length === 0 ? 0 : score(other) - score(one)))
  }
  function draw(): void {
    const found = find()
    const groups = [...Map.groupBy(found, ({ group }) => group)]
    list.replaceChildren(
      ...groups.map(([group, members]) =>
        element(
          'section',
          {},
          element('h2', {}, group),
          element(
            'ul',
            {},
            ...members.map(({ hash, title, badge }) =>
              element(
                'li',
                {},
                element(
                  'a',
                  { href: hash, 'aria-current': hash === current ? 'page' : null },
                  badge && element('span', { class: 'badge' }, badge),
                  element('span', {}, title),
                ),
              ),
            ),
          ),
        ),
      ),
      ...(found.length === 0 ? [element('p', { class: 'fine' }, 'Nothing has these words.')] : []),
    )
    count.textContent = field.value === '' ? '' : `${found.length} found`
  }
  function openFirst(event: KeyboardEvent): void {
    const [first] = find()
    if (event.key === 'Enter' && first && field.value !== '') location.hash = first.hash
    if (event.key !== 'Escape') return
    field.value = ''
    draw()
  }
  addEventListener('keydown', (event) => {
    const { target } = event
    const isTyping = target instanceof Element && target.closest('input, textarea, select, [contenteditable]')
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    folder.open = true
    field.focus()
  })
  const folder = element(
    'details',
    { class: 'contents', open: wide.matches },
    element('summary', {}, 'Contents'),
    element('div', { class: 'contents-search' }, icon('search'), field),
    count,
    element('nav', { 'aria-label': 'Reference' }, list),
  )
  wide.addEventListener('change', () => {
    folder.open = wide.matches
  })
  draw()
  return {
    element: folder,
    mark(hash) {
      current = hash
      draw()
      if (!wide.matches) folder.open = false
    },
    add(more) {
      entries.push(...more)
      draw()
    },
  }
}
