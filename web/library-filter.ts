// The filters of the library: by state and model, which the server applies, and by words and date, which are applied here.
import { dateField } from './date-field.ts'
import { element, icon } from './element.ts'
import { describeLabels } from './job-words.ts'
import type { JobRecord, ModelRecord } from './records.ts'
import { describeInput } from './session.ts'

/** What is asked for; empty texts are for all. */
export interface LibraryFilter {
  readonly status: string
  readonly model: string
  readonly words: string
  /** A day such as 2026-11-22: only jobs of that day and later ones. */
  readonly since: string
  /** `yes` for favourites only. */
  readonly starred: string
}

export const noFilter: LibraryFilter = { status: '', model: '', words: '', since: '', starred: '' }

const states = [
  ['', 'All'],
  ['succeeded', 'Done'],
  ['running', 'Working'],
  ['queued', 'Queued'],
  ['failed', 'Failed'],
  ['canceled', 'Canceled'],
  ['expired', 'Expired'],
  ['needs_review', 'In review'],
] as const
const typingPauseMs = 200

/** Whether a job has the words of a filter, in its input, its labels or the name of its model, or in its id. */
export function hasWords(job: JobRecord, { words }: Pick<LibraryFilter, 'words'>, modelName: string): boolean {
  const text =
    `${describeInput(job) ?? ''}\n${JSON.stringify(job.input ?? {})}\n${describeLabels(job).join('\n')}\n${modelName}\n${job.job_id}`.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

/** Whether a job is too old for a filter; then so are all that follow it in a list. */
export function isTooOld(
  { created_at }: Pick<JobRecord, 'created_at'>,
  { since }: Pick<LibraryFilter, 'since'>,
): boolean {
  return since !== '' && Date.parse(created_at) < new Date(`${since}T00:00`).getTime()
}

/** The filters on the page, set as given. */
export function libraryFilterBar(
  filter: LibraryFilter,
  models: ReadonlyMap<string, ModelRecord>,
  onChange: (filter: LibraryFilter) => void,
): HTMLElement {
  let current = filter
  let pause: ReturnType<typeof setTimeout> | undefined
  const change = (changed: Partial<LibraryFilter>): void => {
    current = { ...current, ...changed }
    onChange(current)
  }
  const chips = states.flatMap(([id, words], index) => [
    element('input', {
      type: 'radio',
      name: 'status',
      id: `status-${index}`,
      checked: id === filter.status,
      onchange: () => change({ status: id }),
    }),
    element('label', { class: 'chip', for: `status-${index}` }, words),
  ])
  const starred = element('input', {
    type: 'checkbox',
    id: 'starred',
    checked: filter.starred !== '',
    onchange: () => change({ starred: starred.checked ? 'yes' : '' }),
  })
  const words = element('input', {
    type: 'search',
    class: 'input',
    placeholder: 'Search your generations',
    'aria-label': 'Search your generations',
    value: filter.words,
    oninput: () => {
      clearTimeout(pause)
      pause = setTimeout(() => change({ words: words.value.trim() }), typingPauseMs)
    },
  })
  const model = element(
    'select',
    { class: 'input', 'aria-label': 'Model', onchange: () => change({ model: model.value }) },
    element('option', { value: '' }, 'All models'),
    ...[...models.values()].map(({ id, name, mode }) =>
      element('option', { value: id, selected: id === filter.model }, nameModel(name, mode, [...models.values()])),
    ),
  )
  const since = dateField('From', { value: filter.since, onChange: (day) => change({ since: day }) })
  return element(
    'div',
    { class: 'library-filters' },
    element(
      'div',
      { class: 'library-chips' },
      element('div', { class: 'chips', role: 'group', 'aria-label': 'State' }, ...chips),
      element('div', { class: 'chips' }, starred, element('label', { class: 'chip', for: 'starred' }, 'Favourites')),
    ),
    element(
      'div',
      { class: 'library-fields' },
      element('div', { class: 'search' }, icon('search'), words),
      element('div', { class: 'select' }, model),
      since.element,
    ),
  )
}

/** Names of modes tell models of one name apart. */
function nameModel(name: string, mode: string, models: readonly ModelRecord[]): string {
  return models.filter((model) => model.name === name).length > 1 ? `${name}, ${mode.replaceAll('-', ' ')}` : name
}
