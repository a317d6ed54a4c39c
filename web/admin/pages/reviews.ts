// Jobs under review, each with what is known about it and the two ways to end it.
import type { InspectJobResponse } from '../../../gen/mediagen/v1/admin_pb.ts'
import { JobStatus } from '../../../gen/mediagen/v1/generation_pb.ts'
import { button, element } from '../../element.ts'
import { factList, failurePlace, pageFrame, type PageDeps } from '../deps.ts'
import { openCharge, openRelease } from '../job-acts.ts'
import { outputStrip, upstreamTable } from '../job-details.ts'
import { keepLive } from '../live.ts'
import { toHash } from '../route.ts'
import { emptyNote } from '../table.ts'
import { codeOf, countOf, formatDuration, formatNumber, timeOf } from '../words.ts'

const mostShown = 25

export function reviewsPage(deps: PageDeps): HTMLElement {
  const { admin, names, signal } = deps
  const list = element('div', { class: 'reviews', 'aria-busy': 'true' })
  const count = element('p', { class: 'fine', role: 'status' })
  const failure = failurePlace(() => void live.refresh())
  const retention = admin.getRetention({}, { signal }).catch(() => null)
  let shown = new Map<string, HTMLElement>()

  async function read(signal: AbortSignal): Promise<void> {
    const { jobs, total } = await admin.listAllJobs({ status: JobStatus.NEEDS_REVIEW, limit: mostShown }, { signal })
    const fresh = jobs.filter(({ jobId }) => !shown.has(jobId))
    const [seen] = await Promise.all([
      Promise.all(fresh.map(({ jobId }) => admin.inspectJob({ jobId }, { signal }))),
      names.learn(jobs.map(({ accountId }) => accountId)),
    ])
    if (signal.aborted) return
    const cards = new Map(seen.map((one) => [one.job?.jobId ?? '', toCard(one)]))
    shown = new Map(
      jobs.flatMap(({ jobId }) => {
        const card = shown.get(jobId) ?? cards.get(jobId)
        return card ? [[jobId, card] as const] : []
      }),
    )
    list.removeAttribute('aria-busy')
    count.textContent =
      total === 0
        ? ''
        : `${countOf(total, 'job')} under review${total > shown.size ? `, the newest ${shown.size} are shown` : ''}`
    if (total === 0) {
      const after = await retention
      list.replaceChildren(
        emptyNote(
          'Nothing needs a decision. A job comes here when it may have cost money and its outcome is unknown, or when its files could not be signed.',
          ...(after
            ? [`If nobody decides, its credits are returned after ${formatDuration(Number(after.reviewSeconds))}.`]
            : []),
          element('a', { href: toHash('jobs') }, 'See all jobs'),
        ),
      )
    } else if (
      [...list.children].some((one, at) => [...shown.values()][at] !== one) ||
      list.childElementCount !== shown.size
    )
      list.replaceChildren(...shown.values())
  }
  const live = keepLive(read, failure.showFor(list), signal)

  function toCard(inspected: InspectJobResponse): HTMLElement {
    const { job } = inspected
    if (!job) return element('article', {})
    const { jobId, accountId, model, error, billing, createdAt, finishedAt, keyName } = job
    const done = (): void => {
      void live.refresh().then(() => document.querySelector<HTMLElement>('#main')?.focus())
    }
    return element(
      'article',
      { class: 'review' },
      element('header', {}, element('h2', {}, element('a', { href: toHash('jobs', jobId) }, model)), codeOf(jobId)),
      element(
        'p',
        { class: 'review-why' },
        error?.message ?? 'Nothing is known about its outcome.',
        error ? element('code', { class: 'id' }, error.code) : null,
      ),
      factList([
        ['Account', names.link(accountId)],
        ['Key', keyName ?? null],
        ['Held', countOf(billing?.held ?? 0n, 'credit')],
        ['Started', timeOf(createdAt)],
        ['Under review since', timeOf(finishedAt)],
      ]),
      upstreamTable(inspected) ?? element('p', { class: 'fine' }, 'Nothing is recorded as submitted to a provider.'),
      outputStrip(inspected) ?? element('p', { class: 'fine' }, 'It has left no file.'),
      element(
        'p',
        { class: 'dialog-buttons' },
        button(`Charge ${formatNumber(billing?.held ?? 0n)} …`, () => openCharge(deps, job, done), { look: 'primary' }),
        button('Release …', () => openRelease(deps, job, done), { look: 'quiet' }),
      ),
    )
  }
  return pageFrame(
    'Reviews',
    {
      lead: 'Jobs that may have cost money, and whose outcome or price is unknown, or whose files could not be signed. You decide who pays.',
    },
    failure.element,
    count,
    list,
  )
}
