// The ledger of the account, newest first, in pages.
import { isAbort } from './api.ts'
import { button, element } from './element.ts'
import { formatAge } from './job-words.ts'
import type { Parts } from './parts.ts'
import { problemNotice } from './problem-notice.ts'
import type { EntryRecord, ListRecord, WalletRecord } from './records.ts'
import { toHash } from './route.ts'

const pageSize = 50
const kinds: Readonly<Record<EntryRecord['kind'], string>> = {
  grant: 'Granted',
  hold: 'Held',
  charge: 'Charged',
  release: 'Returned',
  adjust: 'Adjusted',
}

export function walletView({ api, signal }: Parts): HTMLElement {
  document.title = 'Credits · mediagen'
  const balance = element('p', { class: 'lead', role: 'status' })
  const rows = element('tbody', {})
  const trouble = element('div', {})
  const more = button('Show more', () => void load(), { look: 'quiet' })
  const shown = new Set<string>()
  let offset = 0

  async function load(): Promise<void> {
    more.disabled = true
    trouble.replaceChildren()
    try {
      const query = new URLSearchParams({ limit: String(pageSize), offset: String(offset) })
      const [wallet, page] = await Promise.all([
        api.get<WalletRecord>('/v1/wallet', { signal }),
        api.get<ListRecord<EntryRecord>>(`/v1/wallet/entries?${query.toString()}`, { signal }),
      ])
      balance.textContent = `${format(wallet.available)} available, ${format(wallet.held)} held for running generations`
      offset += page.data.length
      for (const entry of page.data) {
        // One that moved to another page because of newer ones is not shown twice.
        if (!shown.has(entry.entry_id)) rows.append(toRow(entry))
        shown.add(entry.entry_id)
      }
      if (page.total === 0)
        trouble.replaceChildren(element('p', { class: 'empty' }, 'The balance has not changed yet.'))
      more.hidden = !page.has_more
    } catch (error) {
      if (!isAbort(error)) trouble.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load() }))
    } finally {
      more.disabled = false
    }
  }

  more.hidden = true
  void load()
  const head = ['When', 'What', 'Credits', 'Available', 'Held', 'Why'].map((name) =>
    element('th', { scope: 'col' }, name),
  )
  return element(
    'section',
    { class: 'ledger' },
    element('header', { class: 'page-head' }, element('h1', {}, 'Credits'), balance),
    element('table', {}, element('thead', {}, element('tr', {}, ...head)), rows),
    trouble,
    element('div', { class: 'more-row' }, more),
  )
}

function toRow(entry: EntryRecord): HTMLElement {
  const { kind, credits, job_id, note } = entry
  const why =
    job_id === null ? note : element('a', { href: toHash({ view: 'job', id: job_id }) }, `Job …${job_id.slice(-8)}`)
  return element(
    'tr',
    { 'data-kind': kind },
    element(
      'td',
      {},
      element('time', { datetime: entry.created_at, title: entry.created_at }, formatAge(entry.created_at, Date.now())),
    ),
    element('td', {}, kinds[kind]),
    element('td', { class: 'number' }, format(credits)),
    element('td', { class: 'number' }, format(entry.available_after)),
    element('td', { class: 'number' }, format(entry.held_after)),
    element('td', {}, why),
  )
}

function format(credits: number): string {
  return credits.toLocaleString('en-US')
}
