// One job of any account, with what only an operator sees.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { InspectJobResponse } from '../../../gen/mediagen/v1/admin_pb.ts'
import { JobStatus } from '../../../gen/mediagen/v1/generation_pb.ts'
import { button, element, icon } from '../../element.ts'
import { factList, failurePlace, pageFrame, type PageDeps, section } from '../deps.ts'
import { canCancel, openCancel, openCharge, openRelease } from '../job-acts.ts'
import { outputStrip, upstreamTable } from '../job-details.ts'
import { keepLive } from '../live.ts'
import { toHash } from '../route.ts'
import { codeOf, formatDuration, timeOf } from '../words.ts'
import { describeState, sayCredits } from './jobs.ts'
import { deliveryTable } from './webhooks.ts'

const afterLoss: Readonly<Record<string, string>> = {
  again: 'it runs again from the beginning',
  continue: 'it goes on with what was submitted',
  never: 'it goes to review',
}

export function jobPage(deps: PageDeps): HTMLElement {
  const { admin, names, route, signal } = deps
  const content = element('div', { 'aria-busy': 'true' })
  const acts = element('div', { class: 'page-actions' })
  const failure = failurePlace(() => void live.refresh())
  let seen = ''

  async function read(signal: AbortSignal): Promise<void> {
    const inspected = await admin.inspectJob({ jobId: route.id }, { signal })
    const { job } = inspected
    if (!job) return
    await names.learn([job.accountId])
    if (signal.aborted) return
    // URLs are signed anew each time.
    const now = JSON.stringify({ ...inspected, outputs: inspected.outputs.length }, (_name, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    )
    content.removeAttribute('aria-busy')
    if (now === seen) return
    seen = now
    page.querySelector('h1')?.replaceChildren(job.model)
    const refresh = (): void => void live.refresh()
    acts.replaceChildren(
      ...(canCancel(job) ? [button('Cancel', () => openCancel(deps, job, refresh), { look: 'quiet' })] : []),
      ...(job.status === JobStatus.NEEDS_REVIEW
        ? [
            button('Charge …', () => openCharge(deps, job, refresh), { look: 'primary' }),
            button('Release …', () => openRelease(deps, job, refresh), { look: 'quiet' }),
          ]
        : []),
    )
    content.replaceChildren(...whyOf(inspected), facts(deps, inspected), ...moreOf(inspected))
  }
  const live = keepLive(read, failure.showFor(content), signal)
  const page = pageFrame(
    'Job',
    {
      back: element('a', { class: 'back', href: toHash('jobs') }, icon('back'), 'Jobs'),
      lead: codeOf(route.id),
      actions: [acts],
    },
    failure.element,
    content,
    section('Webhook deliveries', deliveryTable(deps, () => ({ jobId: route.id })).element),
  )
  return page
}

function facts({ names }: PageDeps, inspected: InspectJobResponse): HTMLElement {
  const { job, priority, deadlineAt, ...rest } = inspected
  if (!job) return element('div', {})
  const labels = Object.entries(job.labels)
  const ran = job.startedAt && job.finishedAt ? (timestampMs(job.finishedAt) - timestampMs(job.startedAt)) / 1000 : null
  return factList([
    ['State', describeState(job)[0] ?? null],
    ['Account', names.link(job.accountId)],
    ['Key', element('span', {}, job.keyName ?? 'without a name', ' ', codeOf(rest.keyId))],
    ['Credits', sayCredits(job)],
    ['Started', timeOf(job.createdAt)],
    ['Began to run', timeOf(job.startedAt, 'not yet')],
    ['Ended', job.finishedAt ? timeOf(job.finishedAt) : null],
    ['Ran for', ran === null ? null : formatDuration(ran)],
    ['Runs', `${job.attempts} begun, ${rest.lostRuns} lost or failed, at most ${rest.maxAttempts}`],
    ['If a run is lost', afterLoss[rest.afterLoss] ?? rest.afterLoss],
    ['Next run', rest.availableAt ? timeOf(rest.availableAt) : null],
    ['Worker', rest.worker === '' ? null : codeOf(rest.worker)],
    ['Worker counts as lost', rest.leaseUntil ? timeOf(rest.leaseUntil) : null],
    ['Deadline', deadlineAt ? timeOf(deadlineAt) : null],
    ['Priority', priority === 0 ? null : String(priority)],
    ['Files', String(job.outputs)],
    ['Labels', labels.length === 0 ? null : labels.map(([name, value]) => `${name}: ${value}`).join(', ')],
    ['Deleted by its owner', job.deletedAt ? timeOf(job.deletedAt) : null],
  ])
}

/** Why the job did not succeed, in the words of whoever knows. */
function whyOf({ job }: InspectJobResponse): HTMLElement[] {
  if (!job?.error) return []
  return [element('p', { class: 'review-why' }, job.error.message, element('code', { class: 'id' }, job.error.code))]
}

function moreOf(inspected: InspectJobResponse): HTMLElement[] {
  const [upstream, files] = [upstreamTable(inspected), outputStrip(inspected)]
  return [
    ...(upstream ? [section('Submissions to providers', upstream)] : []),
    ...(files ? [section('Files, for your decision', files)] : []),
  ]
}
