// The credits of the account: the balance, what a month took by day, and its ledger in plain lines; and all of it as a file.
import { isAbort } from '../api.ts'
import { button, element, linkButton } from '../element.ts'
import { formatSigned, type LedgerLine, toCsv, toLines } from '../ledger-lines.ts'
import { moment } from '../moment.ts'
import { problemNotice } from '../problem-notice.ts'
import type { JobRecord, ModelRecord, UsageRecord, WalletRecord } from '../records.ts'
import { toHash } from '../route.ts'
import { offerFile } from '../save-file.ts'
import { nameJob } from '../session.ts'
import type { ViewDeps } from '../view-deps.ts'
import { accountPage, nothingYet } from './account-page.ts'
import { createLedger, readAllEntries } from './ledger.ts'
import { addMonths, nameMonth } from './month-chooser.ts'
import { createUsageChart, type Shown } from './usage-chart.ts'

const pageSize = 100

export function walletView(deps: ViewDeps): HTMLElement {
  const { api, catalog, signal } = deps
  const balance = element('p', { class: 'lead', role: 'status' })
  const rows = element('tbody', {})
  const head = ['When', 'What', 'Credits'].map((name) => element('th', { scope: 'col' }, name))
  const table = element('table', {}, element('thead', {}, element('tr', {}, ...head)), rows)
  const totals = element('p', { class: 'fine', role: 'status' })
  const trouble = element('div', {})
  const more = button('Show more', () => draw((most += pageSize)), { look: 'quiet' })
  const csv = button('Download all as CSV', () => void save(), { icon: 'download', look: 'quiet small' })
  const ledger = createLedger(api, signal)
  let models: ReadonlyMap<string, ModelRecord> = new Map()
  let shown: Shown | null = null
  let usage: UsageRecord | null = null
  let most = pageSize
  let turn = 0
  more.hidden = csv.hidden = table.hidden = true

  async function load(): Promise<void> {
    const own = ++turn
    trouble.replaceChildren()
    try {
      const [wallet] = await Promise.all([
        api.get<WalletRecord>('/v1/wallet', { signal }),
        // A job may have begun in the month before.
        ledger.readBackTo(`${addMonths(shown?.month ?? '', -1)}-28`),
        catalog.models().then(
          (all) => (models = all),
          () => {},
        ),
      ])
      if (own !== turn) return
      balance.textContent = `${format(wallet.available)} available, ${format(wallet.held)} held for running generations`
      draw()
    } catch (error) {
      if (!isAbort(error)) trouble.replaceChildren(problemNotice(error, { label: 'Try again', run: () => void load() }))
    }
  }
  function draw(count = most): void {
    if (!shown || !usage) return
    const { month, model } = shown
    const all = toLines(ledger.entries).filter(({ at }) => monthOf(at, usage?.time_zone ?? 'UTC') === month)
    const lines = all.filter(({ jobId }) => model === '' || ledger.jobs.get(jobId ?? '')?.model === model)
    const unknown = model === '' ? 0 : all.filter(({ jobId }) => jobId !== null && !ledger.jobs.has(jobId)).length
    rows.replaceChildren(...lines.slice(0, count).map((line) => toRow(line, ledger.jobs.get(line.jobId ?? ''), models)))
    const spent = sum(lines.filter(({ kind, isOpen }) => kind === 'generation' && !isOpen))
    const came = sum(lines.filter(({ kind }) => kind !== 'generation'))
    const hidden = unknown === 0 ? '' : ` ${unknown} deleted generations are not listed by model.`
    totals.textContent = `In ${nameMonth(month)}: ${formatSigned(came)} received, ${formatSigned(spent)} spent.${hidden}`
    more.hidden = lines.length <= count
    table.hidden = lines.length === 0
    csv.hidden = ledger.entries.length === 0
    if (lines.length === 0) trouble.replaceChildren(nothing(ledger.hasMore || ledger.entries.length > 0))
  }
  async function save(): Promise<void> {
    csv.disabled = true
    try {
      const all = await readAllEntries(api, signal)
      offerFile(new Blob([toCsv(all)], { type: 'text/csv' }), `credits-${new Date().toISOString().slice(0, 10)}.csv`)
    } catch (error) {
      if (!isAbort(error)) trouble.replaceChildren(problemNotice(error))
    } finally {
      csv.disabled = false
    }
  }
  const chart = createUsageChart(deps, (now, read) => {
    const isSame = shown?.month === now.month
    shown = now
    usage = read
    most = pageSize
    trouble.replaceChildren()
    if (isSame) draw()
    else void load()
  })
  return accountPage(
    'wallet',
    element('div', { class: 'head-row' }, element('h1', {}, 'Credits'), balance),
    chart.element,
    element('div', { class: 'ledger-bar' }, totals, csv),
    element('div', { class: 'ledger' }, table),
    trouble,
    element('div', { class: 'more-row' }, more),
  )
}

/** The month of a time, where days begin as the server says. */
function monthOf(at: string, timeZone: string): string {
  // The one locale that writes days as the server does.
  return new Date(at).toLocaleDateString('en-CA', { timeZone }).slice(0, 7)
}

function nothing(elsewhere: boolean): HTMLElement {
  return nothingYet(
    elsewhere ? 'Nothing in this month' : 'No credits have been received or spent yet',
    elsewhere ? 'Choose another month or model above.' : 'Each generation, grant and adjustment will be a line here.',
    elsewhere ? null : linkButton('Pick a model', toHash({ view: 'models' }), { look: 'primary' }),
  )
}

function toRow(line: LedgerLine, job: JobRecord | undefined, models: ReadonlyMap<string, ModelRecord>): HTMLElement {
  return element(
    'tr',
    { 'data-kind': line.kind },
    element('td', {}, moment(line.at)),
    element('td', {}, ...describe(line, job && nameJob(job, models))),
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
