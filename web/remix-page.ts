// Where a remix link leads: to the form of a job's model, with the settings of the job.
import { isAbort } from './api.ts'
import { element } from './element.ts'
import { problemNotice } from './problem-notice.ts'
import type { JobRecord } from './records.ts'
import { toHash } from './route.ts'
import { keepDraft } from './session.ts'
import type { ViewDeps } from './view-deps.ts'

export function remixPage({ api, signal }: ViewDeps, jobId: string): HTMLElement {
  const page = element('section', { 'aria-busy': 'true' })
  document.title = 'Settings of a generation · mediagen'

  async function load(): Promise<void> {
    try {
      // Lists and events leave out large values, so the whole input is read.
      const { input, model } = await api.get<JobRecord>(`/v1/jobs/${encodeURIComponent(jobId)}`, { signal })
      if (!input) return show(element('p', { class: 'empty' }, 'The settings of this generation were removed.'))
      keepDraft(model, input)
      // Back leads to where the link was.
      location.replace(toHash({ view: 'model', id: model }))
    } catch (error) {
      if (!isAbort(error)) show(problemNotice(error, { label: 'Try again', run: () => void load() }))
    }
  }
  function show(content: HTMLElement): void {
    page.replaceChildren(content)
    page.removeAttribute('aria-busy')
  }
  void load()
  return page
}
