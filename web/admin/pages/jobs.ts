// Jobs of all accounts: what waits, what runs, what came of the others.
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { JobSummary } from '../../../gen/mediagen/v1/admin_pb.ts'
import { JobStatus } from '../../../gen/mediagen/v1/generation_pb.ts'
import { button, element } from '../../element.ts'
import { pageFrame, type PageDeps } from '../deps.ts'
import { createFilters } from '../filters.ts'
import { canCancel, openCancel } from '../job-acts.ts'
import { createLiveTable, type LiveTable } from '../live-table.ts'
import { toHash } from '../route.ts'
import { emptyNote } from '../table.ts'
import {
  badge,
  countOf,
  describeJobStatus,
  formatDuration,
  formatNumber,
  jobFilters,
  type StateWords,
  timeOf,
} from '../words.ts'

/** Which jobs. */
export interface JobFilter {
  readonly accountId?: string
  readonly status?: JobStatus
  readonly model?: string
}

export function jobsPage(deps: PageDeps): HTMLElement {
  const { names, route } = deps
  const filters = createFilters(
    'jobs',
    route.query,
    [
      { name: 'status', label: 'State', options: jobFilters.map(([word]) => [word, word]) },
      { name: 'account', label: 'Account', options: names.all(), all: 'All accounts' },
      { name: 'model', label: 'Model', placeholder: 'Whole id' },
    ],
    () => table.restart(),
  )
  const table = jobTable(
    deps,
    () => ({
      accountId: filters.get('account'),
      model: filters.get('model'),
      status: jobFilters.find(([word]) => word === filters.get('status'))?.[1] ?? JobStatus.UNSPECIFIED,
    }),
    { withAccount: true },
  )
  return pageFrame(
    'Jobs',
    { lead: 'The queue, what runs and what has ended, newest first.' },
    filters.element,
    table.element,
  )
}

/** Jobs as a table. */
export function jobTable(
  deps: PageDeps,
  filter: () => JobFilter,
  { withAccount }: { withAccount: boolean },
): LiveTable {
  const { admin, names } = deps
  const table: LiveTable = createLiveTable<JobSummary>(deps, {
    label: 'Jobs',
    noun: ['job', 'jobs'],
    keyOf: ({ jobId }) => jobId,
    columns: [
      {
        title: 'Job',
        kind: 'wide',
        cell: ({ jobId, model }) => [
          element('a', { href: toHash('jobs', jobId) }, model),
          element('code', { class: 'id' }, jobId),
        ],
      },
      {
        title: withAccount ? 'Account' : 'Key',
        kind: 'name',
        cell: ({ accountId, keyName }) => [
          withAccount ? names.link(accountId) : null,
          element('span', { class: withAccount ? 'fine' : '' }, keyName ?? 'without a name'),
        ],
      },
      { title: 'State', cell: describeState },
      { title: 'Started', cell: ({ createdAt }) => timeOf(createdAt) },
      { title: 'Took', kind: 'number', cell: describeDuration },
      { title: 'Credits', kind: 'number', cell: describeCredits },
      {
        title: 'Actions',
        kind: 'acts',
        cell: (job) =>
          canCancel(job)
            ? button('Cancel', () => openCancel(deps, job, () => void table.refresh()), { look: 'quiet small' })
            : job.status === JobStatus.NEEDS_REVIEW
              ? element('a', { class: 'button quiet small', href: toHash('reviews') }, 'Review')
              : null,
      },
    ],
    empty: () =>
      emptyNote(
        Object.values(filter()).some(Boolean) ? 'No jobs match.' : 'Nothing has been started yet.',
        element('a', { href: toHash('models') }, 'See which models are ready'),
      ),
    async read(page, signal) {
      const { jobs, total } = await admin.listAllJobs({ ...filter(), ...page }, { signal })
      if (withAccount) await names.learn(jobs.map(({ accountId }) => accountId))
      return { rows: jobs, total }
    },
  })
  return table
}

/** The state of a job, and more about it. */
export function describeState({ status, progress, queuePosition, cancelRequested, error }: JobSummary): Node[] {
  const base = describeJobStatus(status)
  const word: StateWords =
    status === JobStatus.RUNNING && progress > 0
      ? { ...base, word: `${base.word} ${Math.round(progress * 100)}%` }
      : queuePosition === undefined
        ? base
        : { ...base, word: `${base.word}, place ${queuePosition}${queuePosition < 100 ? '' : ' or later'}` }
  const remark = cancelRequested && status === JobStatus.RUNNING ? 'to be canceled' : error?.message
  return [badge(word), ...(remark ? [element('span', { class: 'fine remark', title: remark }, remark)] : [])]
}

function describeDuration({ status, createdAt, startedAt, finishedAt }: JobSummary): string {
  if (status === JobStatus.QUEUED && createdAt)
    return `waits ${formatDuration((Date.now() - timestampMs(createdAt)) / 1000)}`
  if (!startedAt) return '–'
  return formatDuration(((finishedAt ? timestampMs(finishedAt) : Date.now()) - timestampMs(startedAt)) / 1000)
}

/** What a job holds or has cost. */
export function describeCredits({ billing, status }: JobSummary): string {
  if (!billing) return '–'
  const isOpen = status === JobStatus.QUEUED || status === JobStatus.RUNNING || status === JobStatus.NEEDS_REVIEW
  return isOpen ? `${formatNumber(billing.held)} held` : formatNumber(billing.charged)
}

/** The credits of a job in a sentence. */
export function sayCredits({ billing }: JobSummary): string {
  if (!billing) return '–'
  const { quoted, held, charged, released } = billing
  return `${countOf(quoted, 'credit')} quoted, ${formatNumber(held)} held, ${formatNumber(charged)} charged, ${formatNumber(released)} returned`
}
