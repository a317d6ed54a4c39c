// Makes what a job made again: with its defaults and its seed, and with what is not guaranteed said before the press.
import { startGeneration } from '@mediagen/client/generate.ts'
import { isAbort } from './api.ts'
import { openDialog } from './dialog.ts'
import { element, icon } from './element.ts'
import { formatCredits } from './job-words.ts'
import { navigate } from './navigate.ts'
import { problemNotice } from './problem-notice.ts'
import type { JobRecord, JsonObject, QuoteRecord } from './records.ts'
import { offerFile } from './save-file.ts'
import type { ViewDeps } from './view-deps.ts'

/** Opens the dialog; the new job has a page of its own. */
export function openMakeAgain({ api, balance, signal }: ViewDeps, jobId: string): void {
  const closed = new AbortController()
  const stop = { signal: AbortSignal.any([signal, closed.signal]) }
  const facts = element('div', { 'aria-busy': 'true' })
  const trouble = element('div', {})
  const go = element('button', { type: 'submit', class: 'button primary', disabled: true }, 'Make it again')
  let start: (() => Promise<JobRecord>) | null = null

  async function load(): Promise<void> {
    try {
      // Lists and events have neither the whole input nor the seed.
      const { model, labels, reproduction } = await api.get<JobRecord>(toPath(jobId), stop)
      const input = reproduction?.input as JsonObject | null | undefined
      facts.replaceChildren(...describe(reproduction))
      facts.removeAttribute('aria-busy')
      if (!input) return
      const quote = await api.post<QuoteRecord>('/v1/quotes', { model, input }, stop)
      const available = balance.wallet?.available ?? Number.POSITIVE_INFINITY
      go.textContent = `Make it again for ${formatCredits(quote.credits)}`
      go.disabled = quote.credits > available
      if (go.disabled) trouble.textContent = `You have ${formatCredits(available)}.`
      start = () => startGeneration(api, model, input, { quote, labels })
    } catch (error) {
      if (!isAbort(error)) trouble.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load() }))
    }
  }
  async function make(): Promise<void> {
    if (go.disabled || start === null) return
    go.disabled = true
    trouble.replaceChildren()
    try {
      const { job_id: id } = await start()
      dialog.close()
      navigate({ view: 'job', id })
    } catch (error) {
      go.disabled = false
      trouble.replaceChildren(problemNotice(error))
    } finally {
      balance.refresh()
    }
  }
  const onsubmit = (event: SubmitEvent): void => {
    event.preventDefault()
    void make()
  }
  const body = element(
    'form',
    { class: 'variations', onsubmit },
    facts,
    trouble,
    element('div', { class: 'dialog-buttons' }, go),
  )
  const dialog = openDialog('Make again', [body], { onClose: () => closed.abort() })
  void load()
}

/** Saves the archive of a job. */
export async function saveBundle({ api, signal }: ViewDeps, jobId: string): Promise<void> {
  const answer = await api.open(`${toPath(jobId)}/bundle`, { signal })
  offerFile(await answer.blob(), `mediagen-${jobId}.zip`)
}

function describe(reproduction: JobRecord['reproduction']): Node[] {
  const { seed = null, version = null, provider_model: model = null, not_guaranteed: doubts = [] } = reproduction ?? {}
  const rows: readonly (readonly [name: string, value: string | number | null])[] = [
    ['Seed', seed],
    ['Version', version],
    ['Model of the provider', model],
  ]
  const promise = element('p', {}, 'The same settings make the same file.')
  return [
    doubts.length === 0
      ? promise
      : element(
          'div',
          { class: 'notice mild' },
          icon('warning'),
          element(
            'div',
            {},
            element('strong', {}, 'It may differ'),
            ...doubts.map(({ detail }) => element('p', {}, detail)),
          ),
        ),
    element(
      'dl',
      { class: 'facts' },
      ...rows
        .filter(([, value]) => value !== null)
        .map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, String(value)))),
    ),
  ]
}

function toPath(jobId: string): string {
  return `/v1/jobs/${encodeURIComponent(jobId)}`
}
