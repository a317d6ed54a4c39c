// The page of a set of variations: side by side, each with what it does not share with the others; in full with the arrow keys.
import { setLabel } from '@mediagen/client/variations.ts'
import { type Api, isAbort } from './api.ts'
import { openDialog } from './dialog.ts'
import { button, element, icon, linkButton } from './element.ts'
import { createJobTile, type JobTile } from './job-tile.ts'
import { isTerminal, toLocalUrl } from './job-words.ts'
import { player } from './player.ts'
import { problemNotice } from './problem-notice.ts'
import type { JobRecord, ListRecord } from './records.ts'
import { toHash } from './route.ts'
import { describeInput } from './session.ts'
import { describeDifferences } from './tile-differences.ts'
import type { ViewDeps } from './view-deps.ts'

const refreshMs = 2000
const pageSize = 100
// A set was started at once, so its jobs are next to each other, and mostly among the newest.
const mostPages = 20

export function variationsView({ api, catalog, signal }: ViewDeps, id: string): HTMLElement {
  document.title = 'Variations · mediagen'
  const title = element('h1', {}, 'Variations')
  const grid = element('div', { class: 'tiles compared', 'aria-busy': 'true' })
  const tiles = new Map<string, JobTile>()
  let jobs: readonly JobRecord[] = []

  async function load(): Promise<void> {
    jobs = await findSet(api, id, signal)
    const models = await catalog.models().catch(() => new Map<string, { name: string }>())
    for (const job of jobs) {
      const known = tiles.get(job.job_id)
      if (known) known.show(job)
      else {
        const tile = createJobTile(job, (model) => models.get(model)?.name ?? model)
        tile.element.addEventListener('click', (event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey || !openFull(job.job_id)) return
          event.preventDefault()
        })
        tiles.set(job.job_id, tile)
        grid.append(tile.element)
      }
    }
    const differences = describeDifferences(jobs)
    for (const [jobId, tile] of tiles) tile.distinguish(differences.get(jobId) ?? '')
    const [first] = jobs
    title.textContent = (first && describeInput(first)) ?? 'Variations'
    if (!first) grid.replaceChildren(element('p', { class: 'empty' }, 'There are no such variations.'))
    grid.removeAttribute('aria-busy')
    if (jobs.some(({ status }) => !isTerminal(status))) setTimeout(() => void refresh(), refreshMs)
  }
  async function refresh(): Promise<void> {
    if (signal.aborted) return
    await load().catch((error: unknown) => {
      if (!isAbort(error)) grid.prepend(problemNotice(error, { label: 'Try again', run: () => void refresh() }))
    })
  }
  /** Shows what a job made; returns whether it has made anything. */
  function openFull(jobId: string): boolean {
    const differences = describeDifferences(jobs)
    const made = jobs.filter(({ outputs }) => outputs.length > 0)
    let at = made.findIndex((job) => job.job_id === jobId)
    if (at < 0) return false
    const picture = element('div', { class: 'full-picture' })
    const caption = element('p', { role: 'status' })
    const more = element('div', { class: 'dialog-buttons' })
    function show(step: number): void {
      at = (at + step + made.length) % made.length
      const job = made[at] as JobRecord
      const [output] = job.outputs
      const src = output?.url ? toLocalUrl(output.url, location.origin) : null
      const kind = output?.content_type.split('/')[0]
      picture.replaceChildren(
        kind === 'image'
          ? element('img', { src, alt: describeInput(job) ?? '' })
          : player(
              element(kind === 'video' ? 'video' : 'audio', { src, controls: true, playsinline: true }),
              describeInput(job) ?? 'What was made',
              output,
            ),
      )
      caption.textContent = [`${at + 1} of ${made.length}`, differences.get(job.job_id)].filter(Boolean).join(' · ')
      more.replaceChildren(
        button('Previous', () => show(-1), { look: 'quiet' }),
        button('Next', () => show(1), { look: 'quiet' }),
        linkButton('Open', toHash({ view: 'job', id: job.job_id }), { look: 'primary' }),
      )
    }
    const dialog = openDialog('In full', [picture, caption, more])
    dialog.element.classList.add('full')
    dialog.element.addEventListener('keydown', ({ key }) => {
      if (key === 'ArrowLeft') show(-1)
      if (key === 'ArrowRight') show(1)
    })
    show(0)
    return true
  }

  void refresh()
  return element(
    'section',
    {},
    element('a', { class: 'back', href: toHash({ view: 'library' }) }, icon('back'), 'Library'),
    element('header', { class: 'page-head' }, title),
    grid,
  )
}

/** The jobs of a set, in the order in which they were started; those that are older than the newest 2000 are not found. */
async function findSet(api: Api, id: string, signal: AbortSignal): Promise<JobRecord[]> {
  const found: JobRecord[] = []
  for (let page = 0; page < mostPages; page += 1) {
    const query = `/v1/jobs?limit=${pageSize}&offset=${page * pageSize}`
    const { data, has_more } = await api.get<ListRecord<JobRecord>>(query, { signal })
    const own = data.filter(({ labels }) => labels[setLabel] === id)
    found.push(...own)
    if (!has_more || (found.length > 0 && own.length === 0)) break
  }
  return found.toReversed()
}
