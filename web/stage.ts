// The stage: the current job in full size, earlier ones of the same model as a strip below.
import { followJob } from '@mediagen/client/follow.ts'
import { isAbort } from './api.ts'
import { element } from './element.ts'
import { isSame } from './form-value.ts'
import { createJobTile, type JobTile } from './job-tile.ts'
import { createJobView } from './job-view.ts'
import { isTerminal } from './job-words.ts'
import { problemNotice } from './problem-notice.ts'
import type { JobRecord, JsonObject, ListRecord, ModelDetailRecord } from './records.ts'
import type { Samples } from './samples.ts'
import { describeInput } from './session.ts'
import type { ViewDeps } from './view-deps.ts'

const recentJobs = 12

export interface Stage {
  readonly element: HTMLElement
  /** Shows a newly started job, and follows it. */
  readonly add: (job: JobRecord) => void
  /** Whether one of the jobs here makes exactly this, or has made it; null if none does. */
  find(input: JsonObject): 'making' | 'made' | null
}

/**
 * @param samples shown where there is no job to show yet, else folded; null for none
 * @param onJobs called when the jobs of before are known, and when one has ended
 */
export function createStage(
  deps: ViewDeps,
  model: ModelDetailRecord,
  samples: Samples | null,
  onJobs: () => void,
): Stage {
  const { api, signal } = deps
  const view = createJobView(deps, (jobId) => tiles.get(jobId)?.element.remove())
  const current = element('div', { class: 'stage-current' }, emptyStage())
  const before = element('p', { class: 'fine made-before' })
  const strip = element('div', { class: 'strip' })
  const recent = element(
    'section',
    { class: 'recent', hidden: true, 'aria-label': `Made with ${model.name}` },
    element('h2', {}, 'Recent'),
    strip,
  )
  const tiles = new Map<string, JobTile>()
  // Those that the form beside them started.
  const startedHere = new Set<string>()
  let shown = ''

  function tileOf(job: JobRecord): JobTile {
    const known = tiles.get(job.job_id)
    if (known) return known
    const tile = createJobTile(job, () => model.name)
    // A click shows the job here; a click with a modifier, or its facts, lead to its own page.
    tile.element.addEventListener('click', (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return
      event.preventDefault()
      open(job.job_id)
      current.scrollIntoView({ block: 'nearest' })
    })
    tiles.set(job.job_id, tile)
    return tile
  }
  const latest = new Map<string, JobRecord>()
  function take(job: JobRecord): void {
    latest.set(job.job_id, job)
    tileOf(job).show(job)
    if (job.job_id === shown) view.show(job)
  }
  function open(jobId: string): void {
    const job = latest.get(jobId)
    if (!job) return
    if (samples && shown === '') samples.gallery.open = false
    shown = jobId
    view.show(job)
    for (const [id, tile] of tiles) {
      if (id === jobId) tile.element.setAttribute('aria-current', 'true')
      else tile.element.removeAttribute('aria-current')
    }
    const words = describeInput(job)
    before.textContent = words ? `Made before: ${words}` : 'Made before'
    current.replaceChildren(...(startedHere.has(jobId) ? [] : [before]), view.element)
  }
  async function follow(jobId: string): Promise<void> {
    try {
      await followJob(api, jobId, { signal, onJob: take, maxFailures: Number.POSITIVE_INFINITY })
      deps.balance.refresh()
      onJobs()
    } catch (error) {
      if (!isAbort(error) && shown === jobId) current.prepend(problemNotice(error))
    }
  }
  async function loadRecent(): Promise<void> {
    const query = new URLSearchParams({ model: model.id, limit: String(recentJobs) })
    const { data } = await api
      .get<ListRecord<JobRecord>>(`/v1/jobs?${query.toString()}`, { signal })
      .catch(() => ({ data: [] as readonly JobRecord[] }))
    for (const job of data) {
      if (tiles.has(job.job_id)) continue
      take(job)
      strip.append(tileOf(job).element)
      if (job.status === 'queued' || job.status === 'running') void follow(job.job_id)
    }
    recent.hidden = tiles.size === 0
    const [newest] = data
    if (newest && shown === '') open(newest.job_id)
    if (samples && shown === '') {
      current.replaceChildren(samples.first)
      samples.gallery.open = true
    }
    if (newest) onJobs()
  }

  void loadRecent()
  return {
    find(input) {
      const equal = [...latest.values()].filter((job) => isSame(job.input, input))
      if (equal.some(({ status }) => !isTerminal(status))) return 'making'
      return equal.some(({ status }) => status === 'succeeded') ? 'made' : null
    },
    element: element('div', { class: 'stage' }, current, recent, samples?.gallery),
    add(job) {
      startedHere.add(job.job_id)
      take(job)
      strip.prepend(tileOf(job).element)
      recent.hidden = false
      open(job.job_id)
      current.scrollIntoView({ block: 'nearest' })
      void follow(job.job_id)
    },
  }
}

function emptyStage(): HTMLElement {
  return element(
    'div',
    { class: 'stage-empty' },
    element('span', { class: 'stage-mark' }),
    element('p', {}, 'What you make appears here.'),
  )
}
