// The library: the account's jobs, newest first, as far down as one has looked. What other tabs and programs start appears by
// itself, and Back leads to the same place.
import { setLabel } from '@mediagen/client/variations.ts'
import { type Api, isAbort } from './api.ts'
import { button, element } from './element.ts'
import { createJobTile, type JobTile } from './job-tile.ts'
import { isTerminal } from './job-words.ts'
import { hasWords, isTooOld, type LibraryFilter, libraryFilterBar, noFilter } from './library-filter.ts'
import { createLibrarySelection } from './library-selection.ts'
import { keepOrder } from './neighbours.ts'
import { problemNotice } from './problem-notice.ts'
import type { JobRecord, ListRecord, ModelRecord } from './records.ts'
import { toHash } from './route.ts'
import { readStars, starButton } from './stars.ts'
import { describeDifferences } from './tile-differences.ts'
import type { ViewDeps } from './view-deps.ts'

const pageSize = 24
// The largest page of the API, for a search here.
const searchPageSize = 500
// A search looks at no more pages at once.
const mostPages = 4
const refreshMs = 2500
const settleMs = 150

/** The place in the library; kept in the entry of the browser's history. */
interface Place {
  readonly filter: LibraryFilter
  readonly shown: number
  readonly top: number
}

export function libraryView(deps: ViewDeps): HTMLElement {
  const { catalog, signal } = deps
  document.title = 'Library · mediagen'
  const place = readPosition()
  const content = element('div', { 'aria-busy': 'true' })
  void catalog
    .models()
    .catch(() => new Map<string, ModelRecord>())
    .then((models) => {
      if (!signal.aborted) content.replaceWith(listJobs(deps, models, place))
    })
  return element(
    'section',
    { class: 'library' },
    element(
      'header',
      { class: 'page-head' },
      element('h1', {}, 'Library'),
      element('a', { href: toHash({ view: 'uploads' }) }, 'Uploads'),
    ),
    content,
  )
}

function listJobs({ api, signal }: ViewDeps, models: ReadonlyMap<string, ModelRecord>, place: Place): HTMLElement {
  const grid = element('div', { class: 'tiles', 'aria-busy': 'true' })
  const count = element('p', { class: 'fine', role: 'status' })
  const more = button('Show more', () => void load(pageSize), { look: 'quiet' })
  const tiles = new Map<string, { job: JobRecord; readonly tile: JobTile; readonly cell: HTMLElement }>()
  const find = (tile: Element) => [...tiles.values()].find(({ tile: { element: one } }) => one === tile)?.job
  const selection = createLibrarySelection({ api, signal, grid, find, drop })
  let { filter } = place
  let offset = 0
  let turn = 0
  let total = 0

  const nameOf = (model: string): string => models.get(model)?.name ?? model
  const isLocal = (): boolean => filter.words !== '' || filter.since !== '' || filter.starred !== ''
  const matches = (job: JobRecord): boolean => isWanted(job, filter, nameOf(job.model))

  const list = (limit: number, from: number): Promise<ListRecord<JobRecord>> =>
    readPage(api, filter, { limit, from }, signal)
  /** Shows so many more, if there are. */
  async function load(wanted: number): Promise<void> {
    const ownTurn = turn
    more.disabled = true
    const goal = tiles.size + wanted
    try {
      for (let pages = 0; ; pages += 1) {
        const page = await list(isLocal() ? searchPageSize : Math.min(wanted, searchPageSize), offset)
        if (ownTurn !== turn) return
        offset += page.data.length
        for (const job of page.data.filter(matches)) show(job)
        const last = page.data.at(-1)
        const ended = !page.has_more || last === undefined || isTooOld(last, filter)
        more.hidden = ended
        tell(page.total)
        if (ended || !isLocal() || tiles.size >= goal || pages + 1 >= mostPages) break
      }
      grid.removeAttribute('aria-busy')
    } catch (error) {
      if (!isAbort(error)) grid.append(problemNotice(error, { label: 'Try again', run: restart }))
    } finally {
      more.disabled = false
    }
    keep()
  }
  function tell(now = total): void {
    total = now
    const ended = more.hidden
    grid.querySelector('.empty')?.remove()
    if (tiles.size === 0 && ended) grid.append(nothing(filter))
    count.textContent = describeCount(isLocal() ? tiles.size : total, isLocal() && !ended)
    arrange(grid, [...tiles.values()])
  }
  /** Shows a job, once; a new one where it belongs. */
  function show(job: JobRecord, atTop = false): void {
    const known = tiles.get(job.job_id)
    if (known) {
      known.job = job
      return known.tile.show(job)
    }
    const tile = createJobTile(job, nameOf)
    const star = starButton(job.job_id, signal, () => filter.starred !== '' && drop([job.job_id]))
    const cell = element('div', { class: 'tile-cell' }, tile.element, star)
    tiles.set(job.job_id, { job, tile, cell })
    selection.adopt(tile.element)
    grid[atTop ? 'prepend' : 'append'](cell)
  }
  /** Looks at the newest page, and at those that still run elsewhere. */
  async function refresh(): Promise<void> {
    const ownTurn = turn
    if (document.visibilityState === 'hidden' || grid.hasAttribute('aria-busy') || more.disabled) return
    // What is loaded meanwhile may be newer than the answer.
    const before = [...tiles.values()].map(({ job }) => job)
    const page = await list(pageSize, 0).catch(() => null)
    if (!page || ownTurn !== turn) return
    const seen = new Set(page.data.map(({ job_id }) => job_id))
    const fresh = page.data.filter((job) => !tiles.has(job.job_id) && matches(job))
    // Older ones than what is shown come with their page.
    const newest = findNewest([...tiles.values()].map(({ job }) => job))
    for (const job of page.data) if (tiles.has(job.job_id)) show(job)
    for (const job of fresh.toReversed()) {
      if (job.created_at < newest) continue
      show(job, true)
      offset += 1
    }
    drop(findMissing(before, page))
    tell(page.total)
    const others = [...tiles.keys()].filter((id) => !seen.has(id) && !isTerminal(tiles.get(id)?.job.status ?? 'failed'))
    for (const job of await readJobs(api, others.slice(0, pageSize), signal)) show(job)
  }
  /** Takes jobs off the page. */
  function drop(jobIds: readonly string[]): void {
    for (const jobId of jobIds) {
      tiles.get(jobId)?.cell.remove()
      if (!tiles.delete(jobId)) continue
      offset -= 1
      total -= 1
    }
    tell()
  }
  function restart(): void {
    turn += 1
    offset = 0
    tiles.clear()
    selection.clear()
    grid.replaceChildren()
    void load(pageSize)
  }
  function keep(): void {
    if (!signal.aborted) keepPosition({ filter, shown: tiles.size, top: scrollY })
  }

  const timer = setInterval(() => void refresh(), refreshMs)
  signal.addEventListener('abort', () => clearInterval(timer))
  onceScrolled(keep, signal)
  grid.addEventListener('click', keep)
  more.hidden = true
  void load(Math.max(pageSize, place.shown)).then(() => scrollTo(0, place.top))
  const bar = libraryFilterBar(filter, models, (changed) => {
    filter = changed
    restart()
  })
  return element(
    'div',
    {},
    bar,
    element('div', { class: 'library-bar' }, count, selection.element),
    grid,
    element('div', { class: 'more-row' }, more),
  )
}

/** Whether a job passes what the server does not filter by. */
function isWanted(job: JobRecord, filter: LibraryFilter, modelName: string): boolean {
  const isStarred = filter.starred === '' || readStars().has(job.job_id)
  return isStarred && !isTooOld(job, filter) && hasWords(job, filter, modelName)
}

/** Says what tells tiles with the same words apart, and which were started as one set. */
function arrange(grid: HTMLElement, tiles: readonly { readonly job: JobRecord; readonly tile: JobTile }[]): void {
  markSets(grid, tiles)
  const ids = new Map<Element, string>(tiles.map(({ job, tile }) => [tile.element, job.job_id]))
  keepOrder([...grid.querySelectorAll('.tile')].flatMap((tile) => ids.get(tile) ?? []))
  const differences = describeDifferences(tiles.map(({ job }) => job))
  for (const { job, tile } of tiles) tile.distinguish(differences.get(job.job_id) ?? '')
}

/** Puts a line above the first of several tiles that were started as one set, and one below the last. */
function markSets(grid: HTMLElement, tiles: readonly { readonly job: JobRecord; readonly tile: JobTile }[]): void {
  for (const line of grid.querySelectorAll('.set-line')) line.remove()
  const sets = Map.groupBy(tiles, ({ job }) => job.labels[setLabel] ?? '')
  for (const [id, members] of sets) {
    for (const { tile } of members) tile.element.classList.toggle('in-set', id !== '' && members.length > 1)
    if (id === '' || members.length === 1) continue
    const first = [...grid.querySelectorAll('.tile')].find((tile) =>
      members.some(({ tile: { element: own } }) => own === tile),
    )
    const link = element('a', { href: toHash({ view: 'variations', id }) }, 'Compare')
    first?.parentElement?.before(element('p', { class: 'set-line' }, `${members.length} variations `, link))
  }
  for (const next of grid.querySelectorAll(':has(> .in-set) + :not(.set-line, :has(> .in-set))'))
    next.before(element('p', { class: 'set-line' }, 'Others'))
}

/** Calls back when the page has come to rest. */
function onceScrolled(call: () => void, signal: AbortSignal): void {
  let settling: ReturnType<typeof setTimeout> | undefined
  const scrolled = (): void => {
    clearTimeout(settling)
    settling = setTimeout(call, settleMs)
  }
  addEventListener('scroll', scrolled, { signal })
  signal.addEventListener('abort', () => clearTimeout(settling))
}

function readPage(
  api: Api,
  { status, model }: LibraryFilter,
  { limit, from }: { readonly limit: number; readonly from: number },
  signal: AbortSignal,
): Promise<ListRecord<JobRecord>> {
  const query = new URLSearchParams({
    limit: String(limit),
    offset: String(from),
    ...(status && { status }),
    ...(model && { model }),
  })
  return api.get(`/v1/jobs?${query.toString()}`, { signal })
}

/** The records that can be read. */
async function readJobs(api: Api, ids: readonly string[], signal: AbortSignal): Promise<JobRecord[]> {
  const jobs = await Promise.all(
    ids.map((id) => api.get<JobRecord>(`/v1/jobs/${encodeURIComponent(id)}`, { signal }).catch(() => null)),
  )
  return jobs.filter((job) => job !== null)
}

/** Which of these should be in the newest page and are not: deleted elsewhere, or no longer in the state that is looked for. */
function findMissing(shown: readonly JobRecord[], page: ListRecord<JobRecord>): string[] {
  const listed = new Set(page.data.map(({ job_id }) => job_id))
  const oldest = page.has_more ? (page.data.at(-1)?.created_at ?? '') : ''
  return shown.flatMap(({ job_id, created_at }) => (created_at > oldest && !listed.has(job_id) ? job_id : []))
}

function describeCount(found: number, isOpen: boolean): string {
  const words = `${found.toLocaleString('en-US')} ${found === 1 ? 'generation' : 'generations'}`
  return found === 0 ? '' : isOpen ? `${words} so far` : words
}

/** When the newest of these was created; before everything if there is none. */
function findNewest(jobs: readonly JobRecord[]): string {
  return jobs.reduce((latest, { created_at }) => (created_at > latest ? created_at : latest), '')
}

function nothing(filter: LibraryFilter): HTMLElement {
  if (filter.starred !== '' && readStars().size === 0)
    return element(
      'p',
      { class: 'empty' },
      'You have no favourites in this browser. The star on a generation makes it one.',
    )
  const filtered = Object.values(filter).some((value) => value !== '')
  return element(
    'p',
    { class: 'empty' },
    filtered ? 'No generations match.' : 'You have not made anything yet. ',
    filtered ? null : element('a', { href: '#/' }, 'Pick a model.'),
  )
}

function readPosition(): Place {
  const { library } = (history.state ?? {}) as { library?: Partial<Place> }
  return { filter: { ...noFilter, ...library?.filter }, shown: library?.shown ?? 0, top: library?.top ?? 0 }
}

function keepPosition(library: Place): void {
  history.replaceState({ library }, '')
}
