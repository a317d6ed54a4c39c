// What runs, what waits and what needs somebody, each with a way there.
import type { MeasureBacklogResponse, ModelQueue } from '../../../gen/mediagen/v1/admin_pb.ts'
import { DeliveryStatus } from '../../../gen/mediagen/v1/webhooks_pb.ts'
import { button, element, icon } from '../../element.ts'
import { failurePlace, pageFrame, type PageDeps, section } from '../deps.ts'
import { openAct } from '../dialog.ts'
import { keepLive } from '../live.ts'
import { toHash } from '../route.ts'
import { createTable, emptyNote } from '../table.ts'
import { countOf, formatDuration, formatNumber } from '../words.ts'

/** A figure, what it is about, and where there is more. */
interface Figure {
  readonly title: string
  readonly figure: string
  readonly note: string
  readonly href: string
  readonly isBad?: boolean
}

export function overviewPage(deps: PageDeps): HTMLElement {
  const { admin, signal } = deps
  const figures = element('ul', { class: 'figures', 'aria-busy': 'true' })
  const failure = failurePlace(() => void live.refresh())
  const queues = queueTable()
  let seen = ''

  async function read(signal: AbortSignal): Promise<void> {
    const [backlog, models, failed, usage] = await Promise.all([
      admin.measureBacklog({}, { signal }),
      admin.listAllModels({ limit: 1 }, { signal }),
      admin.findDeliveries({ status: DeliveryStatus.FAILED, limit: 1 }, { signal }),
      admin.findUsage({ limit: 1 }, { signal }),
    ])
    if (signal.aborted) return
    queues.show(backlog.queues)
    const shown = [
      ...describeBacklog(backlog),
      {
        title: 'Models not ready',
        figure: formatNumber(models.total - models.ready),
        note: `${formatNumber(models.ready)} of ${formatNumber(models.total)} are ready`,
        href: toHash('models', '', { state: 'unready' }),
        isBad: models.ready < models.total,
      },
      {
        title: 'Failed deliveries',
        figure: formatNumber(failed.total),
        note: `${countOf(backlog.deliveries, 'delivery', 'deliveries')} under way`,
        href: toHash('webhooks', '', { status: 'failed' }),
        isBad: failed.total > 0,
      },
      {
        title: 'Charged this month',
        figure: formatNumber(usage.sum?.charged ?? 0n),
        note: `credits, for ${countOf(usage.sum?.jobs ?? 0n, 'job')}`,
        href: toHash('usage'),
      },
    ]
    figures.removeAttribute('aria-busy')
    const now = JSON.stringify(shown)
    if (now === seen) return
    seen = now
    const focus = figures.contains(document.activeElement) ? document.activeElement?.getAttribute('href') : null
    figures.replaceChildren(...shown.map(toFigure))
    if (focus) figures.querySelector<HTMLElement>(`[href="${focus}"]`)?.focus()
  }
  const live = keepLive(read, failure.showFor(figures), signal)
  return pageFrame(
    'Overview',
    { lead: 'What this server does now, and what needs you.' },
    failure.element,
    figures,
    section('Queues', queues.element),
    section(
      'Ledger',
      element(
        'p',
        { class: 'section-actions' },
        'Every credit is accounted for in a ledger that can be checked at any time. ',
        button('Check the ledger …', () => openVerify(deps), { look: 'quiet small' }),
      ),
    ),
  )
}

function describeBacklog({ queues, reviews, oldestReviewSeconds }: MeasureBacklogResponse): Figure[] {
  const add = (read: (queue: ModelQueue) => bigint): bigint => queues.reduce((sum, one) => sum + read(one), 0n)
  const [running, queued, delayed] = [add((one) => one.running), add((one) => one.queued), add((one) => one.delayed)]
  const oldest = Math.max(0, ...queues.map(({ oldestSeconds }) => oldestSeconds))
  return [
    {
      title: 'Running',
      figure: formatNumber(running),
      note: running === 0n ? 'nothing runs' : `of ${countOf(queues.filter((one) => one.running > 0n).length, 'model')}`,
      href: toHash('jobs', '', { status: 'running' }),
    },
    {
      title: 'Waiting',
      figure: formatNumber(queued + delayed),
      note:
        queued + delayed === 0n
          ? 'nothing waits'
          : `${oldest > 0 ? `the oldest for ${formatDuration(oldest)}` : 'for another try'}${delayed > 0n && queued > 0n ? `, ${formatNumber(delayed)} for another try` : ''}`,
      href: toHash('jobs', '', { status: 'queued' }),
    },
    {
      title: 'Reviews',
      figure: formatNumber(reviews),
      note: reviews === 0n ? 'nothing to decide' : `the oldest for ${formatDuration(oldestReviewSeconds)}`,
      href: toHash('reviews'),
      isBad: reviews > 0n,
    },
  ]
}

function toFigure({ title, figure, note, href, isBad = false }: Figure): HTMLElement {
  return element(
    'li',
    { class: isBad ? 'bad' : '' },
    element(
      'a',
      { href },
      element('span', { class: 'figure-title' }, title, isBad ? icon('warning') : null),
      element('strong', { class: 'figure' }, figure),
      element('span', { class: 'fine' }, note),
    ),
  )
}

function queueTable() {
  return createTable<ModelQueue>({
    label: 'Queues by model',
    keyOf: ({ model }) => model,
    columns: [
      {
        title: 'Model',
        kind: 'wide',
        cell: ({ model }) => element('a', { href: toHash('jobs', '', { model }) }, model),
      },
      { title: 'Running', kind: 'number', cell: ({ running }) => formatNumber(running) },
      { title: 'Waiting', kind: 'number', cell: ({ queued }) => formatNumber(queued) },
      {
        title: 'The oldest waits',
        kind: 'number',
        cell: ({ queued, oldestSeconds }) => (queued === 0n ? '–' : formatDuration(oldestSeconds)),
      },
      { title: 'For another try', kind: 'number', cell: ({ delayed }) => formatNumber(delayed) },
    ],
    empty: () =>
      emptyNote('No job runs or waits.', element('a', { href: toHash('jobs') }, 'See those that have ended')),
  })
}

function openVerify({ admin }: PageDeps): void {
  openAct({
    title: 'Check the ledger',
    intro: 'Every account, entry and job is read. With many it takes a while; nothing is changed.',
    label: 'Check',
    async run() {
      const { accounts, entries, jobs, problems, repairs, root } = await admin.verifyLedger({})
      const seen = `${countOf(accounts, 'account')}, ${countOf(entries, 'entry', 'entries')} and ${countOf(jobs, 'job')} were checked.`
      if (problems.length === 0)
        return element(
          'div',
          {},
          element('p', {}, element('strong', {}, 'Every credit is accounted for. '), seen),
          element('p', { class: 'fine' }, 'Root of all chains: ', element('code', { class: 'id' }, root)),
        )
      return element(
        'div',
        {},
        element('p', {}, element('strong', {}, `${countOf(problems.length, 'problem')}. `), seen),
        element(
          'ul',
          { class: 'changes' },
          ...problems.map((problem, at) => element('li', {}, problem, repairs[at] ? ` ${repairs[at]}` : '')),
        ),
      )
    },
  })
}
