// The library: the account's jobs, newest first, in pages; active ones update by themselves.
import { isAbort } from './api.ts'
import { button, element } from './element.ts'
import { createJobTile, type JobTile } from './job-tile.ts'
import { isTerminal } from './job-words.ts'
import type { Parts } from './parts.ts'
import { problemNotice } from './problem-notice.ts'
import type { JobRecord, ListRecord } from './records.ts'
import { toHash } from './route.ts'

const pageSize = 24
const refreshMs = 2500
const filters = [
  ['', 'All'],
  ['succeeded', 'Done'],
  ['running', 'Working'],
  ['failed', 'Failed'],
  ['canceled', 'Canceled'],
] as const

export function libraryView({ api, catalog, signal }: Parts): HTMLElement {
  document.title = 'Library · mediagen'
  const grid = element('div', { class: 'tiles', 'aria-busy': 'true' })
  const count = element('p', { class: 'lead', role: 'status' })
  const more = button('Show more', () => void load(), { look: 'quiet' })
  const tiles = new Map<string, JobTile>()
  const active = new Set<string>()
  let status = ''
  let offset = 0
  let turn = 0
  let names: (model: string) => string = (model) => model

  async function load(): Promise<void> {
    const asked = turn
    more.disabled = true
    try {
      const page = await list(offset)
      if (asked !== turn) return
      offset += page.data.length
      for (const job of page.data) place(job)
      count.textContent =
        page.total === 0
          ? ''
          : `${page.total.toLocaleString('en-US')} ${page.total === 1 ? 'generation' : 'generations'}`
      if (page.total === 0) grid.replaceChildren(nothing())
      more.hidden = !page.has_more
      grid.removeAttribute('aria-busy')
    } catch (error) {
      if (!isAbort(error)) grid.append(problemNotice(error, { label: 'Try again', run: restart }))
    } finally {
      more.disabled = false
    }
  }
  function list(from: number): Promise<ListRecord<JobRecord>> {
    const query = new URLSearchParams({ limit: String(pageSize), offset: String(from), ...(status && { status }) })
    return api.get(`/v1/jobs?${query.toString()}`, { signal })
  }
  /** Shows a job, once, even if it moved to another page because of newer ones. */
  function place(job: JobRecord): void {
    if (isTerminal(job.status)) active.delete(job.job_id)
    else active.add(job.job_id)
    const known = tiles.get(job.job_id)
    if (known) return known.show(job)
    const tile = createJobTile(job, names)
    tiles.set(job.job_id, tile)
    grid.append(tile.element)
  }
  async function refresh(): Promise<void> {
    if (active.size === 0 || document.visibilityState === 'hidden') return
    const jobs = await Promise.all(
      [...active].slice(0, pageSize).map((id) => api.get<JobRecord>(`/v1/jobs/${id}`, { signal }).catch(() => null)),
    )
    for (const job of jobs) if (job) place(job)
  }
  function restart(): void {
    turn += 1
    offset = 0
    tiles.clear()
    active.clear()
    grid.replaceChildren()
    void load()
  }
  function nothing(): HTMLElement {
    return element(
      'p',
      { class: 'empty' },
      status ? 'No generation matches this filter.' : 'You have not made anything yet. ',
      status ? null : element('a', { href: '#/' }, 'Pick a model.'),
    )
  }

  const timer = setInterval(() => void refresh(), refreshMs)
  signal.addEventListener('abort', () => clearInterval(timer))
  more.hidden = true
  void catalog
    .models()
    .then((models) => {
      names = (model) => models.get(model)?.name ?? model
    })
    .catch(() => {})
    .then(load)
  const chips = filters.flatMap(([id, words], index) => [
    element('input', {
      type: 'radio',
      name: 'status',
      id: `status-${index}`,
      checked: id === '',
      onchange: () => {
        status = id
        restart()
      },
    }),
    element('label', { class: 'chip', for: `status-${index}` }, words),
  ])
  return element(
    'section',
    { class: 'library' },
    element('header', { class: 'page-head' }, element('h1', {}, 'Library'), count),
    element(
      'div',
      { class: 'library-bar' },
      element('div', { class: 'chips', role: 'group', 'aria-label': 'State' }, ...chips),
      element('a', { href: toHash({ view: 'uploads' }) }, 'Uploads'),
    ),
    grid,
    element('div', { class: 'more-row' }, more),
  )
}
