// Filters above the lists of the operator's console.
import { element } from '../element.ts'
import { type PageName, toHash } from './route.ts'

/** Filters of a page, kept in its address so that links lead to them. */
export interface Filters {
  readonly element: HTMLElement
  /** The value of a filter; empty for all. */
  get(name: string): string
}

/** A filter: a choice if it has options, else a text. */
export interface Filter {
  readonly name: string
  readonly label: string
  /** Values with their words; what they are of may come later. */
  readonly options?:
    | readonly (readonly [value: string, words: string])[]
    | Promise<readonly (readonly [string, string])[]>
  /** What the choice of all is called. */
  readonly all?: string
  readonly type?: 'date' | 'search'
  readonly placeholder?: string
}

const typingMs = 300

/** Creates the filters. `changed` is called when one has another value. */
export function createFilters(
  page: PageName,
  query: URLSearchParams,
  filters: readonly Filter[],
  changed: () => void,
): Filters {
  const values = new Map(filters.map(({ name }) => [name, query.get(name) ?? '']))
  let typing: ReturnType<typeof setTimeout> | undefined

  function set(name: string, value: string): void {
    values.set(name, value.trim())
    history.replaceState(null, '', toHash(page, '', Object.fromEntries(values)))
    changed()
  }
  function toControl(filter: Filter): HTMLElement {
    const { name, label, options, all = 'All', type = 'search', placeholder } = filter
    const value = values.get(name) ?? ''
    if (!options) {
      const field = element('input', {
        class: 'input',
        type,
        value,
        placeholder,
        spellcheck: 'false',
        oninput: () => {
          clearTimeout(typing)
          typing = setTimeout(() => set(name, field.value), typingMs)
        },
      })
      return element('label', { class: 'filter', 'data-name': name }, element('span', {}, label), field)
    }
    const choice = element('select', { class: 'input', onchange: () => set(name, choice.value) })
    const fill = (choices: readonly (readonly [string, string])[]): void => {
      const known =
        choices.some(([one]) => one === value) || value === '' ? choices : [...choices, [value, value] as const]
      const selected = choice.value || value
      choice.replaceChildren(
        element('option', { value: '' }, all),
        ...known.map(([one, words]) => element('option', { value: one, selected: one === selected }, words)),
      )
    }
    fill(Array.isArray(options) ? (options as readonly (readonly [string, string])[]) : [])
    if (options instanceof Promise) void options.then(fill, () => {})
    return element(
      'label',
      { class: 'filter', 'data-name': name },
      element('span', {}, label),
      element('span', { class: 'select' }, choice),
    )
  }
  const bar = element(
    'form',
    { class: 'filters', role: 'search', onsubmit: (event: SubmitEvent) => event.preventDefault() },
    ...filters.map(toControl),
  )
  return { element: bar, get: (name) => values.get(name) ?? '' }
}
