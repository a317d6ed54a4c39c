// The page of one job, updated until it ends.
import { followJob } from '@mediagen/client/follow.ts'
import { isAbort } from './api.ts'
import { element, icon } from './element.ts'
import { createJobView } from './job-view.ts'
import { isTerminal } from './job-words.ts'
import { neighbourLinks } from './neighbours.ts'
import { problemNotice } from './problem-notice.ts'
import type { JobRecord } from './records.ts'
import { toHash } from './route.ts'
import { describeInput } from './session.ts'
import { starButton } from './stars.ts'
import type { ViewDeps } from './view-deps.ts'

export function jobPage(deps: ViewDeps, jobId: string): HTMLElement {
  const { api, catalog, signal } = deps
  const title = element('h1', {}, 'Generation')
  const view = createJobView(deps)
  const content = element('div', { 'aria-busy': 'true' })
  const star = starButton(jobId, signal)
  star.hidden = true
  document.title = `${title.textContent} · mediagen`

  async function load(): Promise<void> {
    try {
      const job = await api.get<JobRecord>(`/v1/jobs/${encodeURIComponent(jobId)}`, { signal })
      view.show(job)
      star.hidden = false
      title.textContent = describeInput(job) ?? title.textContent
      document.title = `${title.textContent} · mediagen`
      content.replaceChildren(view.element)
      content.removeAttribute('aria-busy')
      void catalog.models().then(
        (models) => {
          const name = models.get(job.model)?.name
          if (name && !describeInput(job)) title.textContent = name
        },
        () => {},
      )
      if (isTerminal(job.status)) return
      await followJob(api, jobId, { signal, onJob: view.show, maxFailures: Number.POSITIVE_INFINITY })
      deps.balance.refresh()
    } catch (error) {
      if (isAbort(error)) return
      content.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load() }))
      content.removeAttribute('aria-busy')
    }
  }
  void load()
  return element(
    'section',
    { class: 'job-page' },
    element('a', { class: 'back', href: toHash({ view: 'library' }) }, icon('back'), 'Library'),
    element('div', { class: 'title-row' }, title, star, neighbourLinks(jobId, signal)),
    content,
  )
}
