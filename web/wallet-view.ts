// The ledger of the account in plain lines, newest first, in pages, with totals; and as a file.
import { type Api, isAbort } from './api.ts'
import { button, element } from './element.ts'
import { formatAge } from './job-words.ts'
import { formatSigned, type LedgerLine, toCsv, toLines } from './ledger-lines.ts'
import { problemNotice } from './problem-notice.ts'
import type { EntryRecord, JobRecord, ListRecord, ModelRecord, WalletRecord } from './records.ts'
import { toHash } from './route.ts'
import { offerFile } from './save-file.ts'
import { nameJob } from './session.ts'
import type { ViewDeps } from './view-deps.ts'

const pageSize = 100
const largestPage = 500

export function walletView({ api, catalog, signal }: ViewDeps): HTMLElement {
  document.title = 'Credits · mediagen'
  const balance = element('p', { class: 'lead', role: 'status' })
  const rows = element('tbody', {})
  const totals = element('p', { class: 'fine' })
  const trouble = element('div', {})
  const more = button('Show more', () => void load(), { look: 'quiet' })
  const csv = button('Download as CSV', () => void save(), { icon: 'download', look: 'quiet small' })
  const entries = new Map<string, EntryRecord>()
  const names = new Map<string, string>()
  let offset = 0

  async function load(): Promise<void> {
    more.disabled = true
    trouble.replaceChildren()
    try {
      const [wallet, page] = await Promise.all([
        api.get<WalletRecord>('/v1/wallet', { signal }),
        readEntries(api, { limit: pageSize, offset }, signal),
        nameJobs(offset),
      ])
      balance.textContent = `${format(wallet.available)} available, ${format(wallet.held)} held for running generations`
      offset += page.data.length
      // One that moved to another page because of newer ones is not counted twice.
      for (const entry of page.data) entries.set(entry.entry_id, entry)
      show(page.has_more)
    } catch (error) {
      if (!isAbort(error)) trouble.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load() }))
    } finally {
      more.disabled = false
    }
  }
  function show(hasMore: boolean): void {
    const lines = toLines([...entries.values()])
    rows.replaceChildren(...lines.map((line) => toRow(line, names.get(line.jobId ?? ''))))
    const spent = sum(lines.filter(({ kind, isOpen }) => kind === 'generation' && !isOpen))
    const came = sum(lines.filter(({ kind }) => kind !== 'generation'))
    totals.textContent = `${hasMore ? 'In the lines below' : 'In total'}: ${formatSigned(came)} received, ${formatSigned(spent)} spent.`
    more.hidden = !hasMore
    csv.hidden = totals.hidden = lines.length === 0
    if (lines.length === 0)
      trouble.replaceChildren(element('p', { class: 'empty' }, 'No credits have been received or spent yet.'))
  }
  /** Finds what the generations of about this page are called; without it they have no names, which is no harm. */
  async function nameJobs(from: number): Promise<void> {
    const models = await catalog.models().catch(() => new Map<string, ModelRecord>())
    const { data } = await api
      .get<ListRecord<JobRecord>>(`/v1/jobs?limit=${pageSize}&offset=${Math.floor(from / 3)}`, { signal })
      .catch(() => ({ data: [] as readonly JobRecord[] }))
    for (const job of data) names.set(job.job_id, nameJob(job, models))
  }
  async function save(): Promise<void> {
    csv.disabled = true
    try {
      const all: EntryRecord[] = []
      for (let page; !page || page.has_more;) {
        page = await readEntries(api, { limit: largestPage, offset: all.length }, signal)
        all.push(...page.data)
        if (page.data.length === 0) break
      }
      offerFile(new Blob([toCsv(all)], { type: 'text/csv' }), `credits-${new Date().toISOString().slice(0, 10)}.csv`)
    } catch (error) {
      if (!isAbort(error)) trouble.replaceChildren(problemNotice(error))
    } finally {
      csv.disabled = false
    }
  }

  more.hidden = csv.hidden = true
  void load()
  const head = ['When', 'What', 'Credits'].map((name) => element('th', { scope: 'col' }, name))
  return element(
    'section',
    { class: 'ledger' },
    element('header', { class: 'page-head' }, element('h1', {}, 'Credits'), balance),
    element('div', { class: 'ledger-bar' }, totals, csv),
    element('table', {}, element('thead', {}, element('tr', {}, ...head)), rows),
    trouble,
    element('div', { class: 'more-row' }, more),
  )
}

function readEntries(
  api: Api,
  { limit, offset }: { readonly limit: number; readonly offset: number },
  signal: AbortSignal,
): Promise<ListRecord<EntryRecord>> {
  return api.get(`/v1/wallet/entries?limit=${limit}&offset=${offset}`, { signal })
}

function toRow(line: LedgerLine, name: string | undefined): HTMLElement {
  return element(
    'tr',
    { 'data-kind': line.kind },
    element('td', {}, element('time', { datetime: line.at, title: line.at }, formatAge(line.at, Date.now()))),
    element('td', {}, ...describe(line, name)),
    element('td', { class: 'number' }, formatSigned(line.credits)),
  )
}

function describe({ jobId, kind, credits, isOpen, note }: LedgerLine, name: string | undefined): (Node | string)[] {
  const remark = (words: string): Node => element('span', { class: 'fine' }, ` · ${words}`)
  if (jobId === null) return [kind === 'adjust' ? 'Adjusted' : 'Granted', ...(note ? [remark(note)] : [])]
  const link = element('a', { href: toHash({ view: 'job', id: jobId }) }, name ?? 'A generation')
  return [link, ...(isOpen ? [remark('held while it runs')] : credits === 0 ? [remark('nothing charged')] : [])]
}

function sum(lines: readonly LedgerLine[]): number {
  return lines.reduce((total, { credits }) => total + credits, 0)
}

function format(credits: number): string {
  return credits.toLocaleString('en-US')
}
