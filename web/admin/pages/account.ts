// One account: its balance and what an operator does with it, its keys, its jobs, what it used this month.
import { type Account, AccountStatus } from '../../../gen/mediagen/v1/admin_pb.ts'
import { button, element, icon } from '../../element.ts'
import { openAccountLimits, openAdjust, openClose, openFreeze, openGrant, openRename } from '../account-acts.ts'
import { factList, failurePlace, pageFrame, type PageDeps, section } from '../deps.ts'
import { openCreateKeys } from '../key-acts.ts'
import { describeLimits } from '../limit-fields.ts'
import { keepLive } from '../live.ts'
import { toHash } from '../route.ts'
import { badge, codeOf, countOf, describeAccountStatus, formatNumber, timeOf } from '../words.ts'
import { jobTable } from './jobs.ts'
import { keyTable } from './keys.ts'

export function accountPage(deps: PageDeps): HTMLElement {
  const { admin, route, signal, names } = deps
  const accountId = route.id
  const state = element('div', { class: 'account-state', 'aria-busy': 'true' })
  const acts = element('div', { class: 'page-actions' })
  const failure = failurePlace(() => void live.refresh())
  const keys = keyTable(deps, () => accountId, false)
  const jobs = jobTable(deps, () => ({ accountId }), { withAccount: false })
  let seen = ''

  async function read(signal: AbortSignal): Promise<void> {
    const [{ account }, usage] = await Promise.all([
      admin.inspectAccount({ accountId }, { signal }),
      admin.findUsage({ accountId, groupBy: ['account'] }, { signal }).catch(() => null),
    ])
    if (!account || signal.aborted) return
    names.note([account])
    const now = JSON.stringify([account, usage?.sum], (_name, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    )
    state.removeAttribute('aria-busy')
    if (now === seen) return
    seen = now
    document.title = `${account.name} · Administration · mediagen`
    page.querySelector('h1')?.replaceChildren(account.name)
    acts.replaceChildren(...toActs(account))
    state.replaceChildren(facts(account, usage?.sum))
  }
  const live = keepLive(read, failure.showFor(state), signal)
  const refresh = (): void => {
    void live.refresh()
    void keys.refresh()
  }
  function toActs(account: Account): Node[] {
    const act = (label: string, open: typeof openGrant, look = 'quiet'): Node =>
      button(label, () => open(deps, account, refresh), { look })
    if (account.status === AccountStatus.CLOSED) return [act('Rename', openRename)]
    return [
      act('Grant credits', openGrant, 'primary'),
      act('Correct balance', openAdjust),
      act('Limits', openAccountLimits),
      act('Rename', openRename),
      act(account.status === AccountStatus.FROZEN ? 'Unfreeze' : 'Freeze', openFreeze),
      act('Close', openClose),
    ]
  }
  const page = pageFrame(
    'Account',
    {
      back: element('a', { class: 'back', href: toHash('accounts') }, icon('back'), 'Accounts'),
      lead: codeOf(accountId),
      actions: [acts],
    },
    failure.element,
    state,
    section(
      'Keys',
      element(
        'p',
        { class: 'section-actions' },
        button('Create keys', () => void openCreateKeys(deps, accountId, refresh), {
          icon: 'plus',
          look: 'quiet small',
        }),
      ),
      keys.element,
    ),
    section(
      'Jobs',
      element(
        'p',
        { class: 'section-actions' },
        element('a', { href: toHash('audit', '', { account: accountId }) }, 'What operators did with this account'),
      ),
      jobs.element,
    ),
  )
  return page
}

function facts(account: Account, usage: { jobs: bigint; succeeded: bigint; charged: bigint } | undefined): HTMLElement {
  const { accountId, available, held, status, statusReason, statusChangedAt, limits, createdAt } = account
  return factList([
    ['Available', element('strong', { class: 'figure' }, formatNumber(available))],
    ['Held for jobs', element('strong', { class: 'figure' }, formatNumber(held))],
    [
      'Used this month',
      usage
        ? element(
            'a',
            { href: toHash('usage', '', { account: accountId, by: 'day' }) },
            `${countOf(usage.charged, 'credit')} for ${countOf(usage.jobs, 'job')}`,
          )
        : null,
    ],
    [
      'State',
      element(
        'span',
        {},
        badge(describeAccountStatus(status)),
        statusReason ? element('span', { class: 'fine' }, ` ${statusReason}`) : null,
      ),
    ],
    ['In this state since', statusChangedAt ? timeOf(statusChangedAt) : null],
    ['Limits', element('span', {}, ...describeLimits(limits))],
    ['Created', timeOf(createdAt)],
  ])
}
