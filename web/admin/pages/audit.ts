// The audit log: who did what as an operator, with the state before and after.
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { AuditActor, AuditEntry } from '../../../gen/mediagen/v1/admin_pb.ts'
import { offerTable } from '../../csv.ts'
import { button, element } from '../../element.ts'
import { describeChange, findChanges } from '../changes.ts'
import { failurePlace, pageFrame, type PageDeps } from '../deps.ts'
import { createFilters, type Filters } from '../filters.ts'
import { createLiveTable } from '../live-table.ts'
import { toHash } from '../route.ts'
import { emptyNote } from '../table.ts'
import { codeOf, timeOf } from '../words.ts'

const pageSize = 500
const dayMs = 86_400_000
const kinds: readonly (readonly [string, string])[] = [
  ['account', 'accounts'],
  ['key', 'keys'],
  ['credits', 'credits'],
  ['job', 'jobs'],
  ['delivery', 'webhook deliveries'],
  ['signing_key', 'keys of URLs and quotes'],
  ['session', 'sessions of people'],
  ['files', 'files'],
]

export function auditPage(deps: PageDeps): HTMLElement {
  const { admin, names, route, signal } = deps
  const filters = createFilters(
    'audit',
    route.query,
    [
      { name: 'act', label: 'What', options: kinds },
      { name: 'account', label: 'Account', options: names.all(), all: 'All accounts' },
      { name: 'actor', label: 'Who', placeholder: 'key_… or user' },
      { name: 'subject', label: 'On what', placeholder: 'Whole id' },
      { name: 'since', label: 'From', type: 'date' },
      { name: 'until', label: 'To', type: 'date' },
    ],
    () => table.restart(),
  )
  const failure = failurePlace()
  const csv = button('Download as CSV', () => void save(), { icon: 'download', look: 'quiet' })
  const table = createLiveTable<AuditEntry>(deps, {
    label: 'Acts of operators',
    noun: ['act', 'acts'],
    keyOf: ({ entryId }) => entryId,
    columns: [
      { title: 'When', cell: ({ createdAt }) => timeOf(createdAt) },
      { title: 'Who', kind: 'name', cell: ({ actor }) => describeActor(actor) },
      {
        title: 'What',
        cell: ({ act, subject }) => [element('strong', {}, act), linkSubject(subject)],
      },
      { title: 'Account', kind: 'name', cell: ({ accountId }) => names.link(accountId) },
      { title: 'Before and after', kind: 'wide', cell: describeChanges },
    ],
    empty: () =>
      emptyNote(
        Object.values(toFilter(filters)).some(Boolean)
          ? 'No acts match.'
          : 'Nothing has been done yet. What operators do here or on the command line is recorded, and never changes.',
      ),
    async read(page, signal) {
      const { entries, total } = await admin.listAuditEntries({ ...toFilter(filters), ...page }, { signal })
      await names.learn(entries.map(({ accountId }) => accountId))
      return { rows: entries, total }
    },
  })
  async function save(): Promise<void> {
    csv.disabled = true
    try {
      const all: AuditEntry[] = []
      while (true) {
        const page = await admin.listAuditEntries(
          { ...toFilter(filters), limit: pageSize, offset: all.length },
          { signal },
        )
        all.push(...page.entries)
        if (page.entries.length === 0 || all.length >= page.total) break
      }
      failure.show(null)
      offerTable('audit', [
        ['time', 'entry_id', 'actor', 'actor_account_id', 'act', 'subject', 'account_id', 'before', 'after'],
        ...all.map(({ createdAt, entryId, actor, act, subject, accountId, before, after }) => [
          createdAt && timestampDate(createdAt).toISOString(),
          entryId,
          nameActor(actor),
          actor?.accountId,
          act,
          subject,
          accountId,
          before && JSON.stringify(before),
          after && JSON.stringify(after),
        ]),
      ])
    } catch (error) {
      failure.show(error)
    } finally {
      csv.disabled = false
    }
  }
  return pageFrame(
    'Audit log',
    { lead: 'Who did what, here and on the command line. Entries never change.', actions: [csv] },
    filters.element,
    failure.element,
    table.element,
  )
}

function toFilter(filters: Filters) {
  const day = (name: string, afterMs: number) => {
    const at = new Date(`${filters.get(name)}T00:00:00`)
    return Number.isNaN(at.getTime()) ? undefined : timestampFromDate(new Date(at.getTime() + afterMs))
  }
  const [since, until] = [day('since', 0), day('until', dayMs)]
  return {
    act: filters.get('act'),
    accountId: filters.get('account'),
    actor: filters.get('actor'),
    subject: filters.get('subject'),
    ...(since && { since }),
    ...(until && { until }),
  }
}

function nameActor(actor: AuditActor | undefined): string {
  return actor?.keyId || actor?.osUser || 'server'
}

function describeActor(actor: AuditActor | undefined): Node[] {
  const name = nameActor(actor)
  if (actor?.keyId) return [codeOf(name), element('span', { class: 'fine' }, 'an API key')]
  const how = actor?.osUser ? 'command line' : 'by itself'
  return [element('span', {}, name), element('span', { class: 'fine' }, how)]
}

function linkSubject(subject: string): Node {
  const page = subject.startsWith('acct_') ? 'accounts' : subject.startsWith('job_') ? 'jobs' : null
  const code = codeOf(subject)
  return page ? element('a', { href: toHash(page, subject) }, code) : code
}

function describeChanges({ before, after }: AuditEntry): Node {
  const changes = findChanges(before, after)
  if (changes.length === 0) return element('span', { class: 'soft' }, '–')
  return element('ul', { class: 'changes' }, ...changes.map((change) => element('li', {}, describeChange(change))))
}
