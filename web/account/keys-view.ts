// The keys of the account: what each may do and spend, with what the calling key may do to it.
import { isAbort } from '../api.ts'
import { button, element } from '../element.ts'
import { moment, toDay } from '../moment.ts'
import { problemNotice } from '../problem-notice.ts'
import type { AccountRecord, KeyRecord, ListRecord, OwnKeyRecord } from '../records.ts'
import type { ViewDeps } from '../view-deps.ts'
import { accountPage, filled } from './account-page.ts'
import { changeLimits, makeKey, revokeKey } from './key-dialogs.ts'
import { describeLeft, describeLimits, describeRights, findState } from './key-words.ts'

const mostKeys = 500

export function keysView(deps: ViewDeps): HTMLElement {
  const { api, signal } = deps
  const content = element('div', { class: 'keys' })
  const trouble = element('div', {})
  const make = button('Make a key', () => {}, { icon: 'plus', look: 'primary' })
  make.hidden = true

  async function read() {
    const own = await api.get<OwnKeyRecord>('/v1/key', { signal })
    const keys = own.permissions.includes('wallet:read')
      ? await api.get<ListRecord<KeyRecord>>(`/v1/account/keys?limit=${mostKeys}`, { signal })
      : null
    const account = own.permissions.includes('keys:write')
      ? null
      : await api.get<AccountRecord>('/v1/account', { signal })
    return { own, keys, account }
  }
  const load = filled(content, read, ({ own, keys, account }) => {
    const mayMake = own.permissions.includes('keys:write')
    make.hidden = !mayMake
    make.onclick = () => makeKey(api, own, () => void load())
    const all = keys?.data ?? [own]
    const [active, ended] = [true, false].map((wanted) =>
      all.filter((key) => (findState(key, Date.now()) === 'active') === wanted),
    )
    const list = (some: readonly KeyRecord[]): HTMLElement =>
      element('ul', { class: 'key-list' }, ...some.map((key) => toItem(key, own, mayMake, all)))
    return [
      account && advice(account),
      list(active ?? []),
      ended && ended.length > 0
        ? element(
            'details',
            { class: 'ended-keys' },
            element('summary', {}, `${ended.length} revoked or expired`),
            list(ended),
          )
        : null,
      keys?.has_more ? element('p', { class: 'fine' }, `The newest ${mostKeys} are shown.`) : null,
      keys === null
        ? element('p', { class: 'fine' }, 'Other keys are shown to keys with the permission “see credits and keys”.')
        : null,
    ]
  })

  function toItem(key: KeyRecord, own: OwnKeyRecord, mayMake: boolean, all: readonly KeyRecord[]): HTMLElement {
    const state = findState(key, Date.now())
    const isOwn = key.key_id === own.key_id
    const maker = all.find(({ key_id }) => key_id === key.made_by)
    // A person who signs in has no text to tell apart.
    const beginning =
      key.prefix === 'mgs_' ? element('span', { class: 'fine' }, 'signs in') : element('code', {}, `${key.prefix}…`)
    const limits = describeLimits(key.limits)
    const left = isOwn ? own.left.map(describeLeft) : []
    const isMine = mayMake && state === 'active' && key.made_by === own.key_id
    const change = button('Change limits', () => changeLimits(api, key, own, () => void load()), {
      look: 'quiet small',
    })
    const revoke = button('Revoke', () => void drop(key, revoke), { look: 'quiet small' })
    return element(
      'li',
      { 'data-state': state },
      element(
        'div',
        { class: 'key-words' },
        element(
          'h2',
          {},
          ...(key.name === null ? [beginning] : [key.name, ' ', beginning]),
          isOwn ? element('span', { class: 'badge' }, 'in use here') : null,
        ),
        element('p', {}, describeRights(key.permissions)),
        limits.length > 0 ? element('p', {}, limits.join(' · ')) : null,
        ...left.map((words) => element('p', { class: 'fine' }, words)),
        element('p', { class: 'fine key-times' }, ...describeTimes(key, isOwn, maker)),
      ),
      isMine ? element('div', { class: 'actions' }, change, revoke) : null,
    )
  }
  async function drop(key: KeyRecord, clicked: HTMLButtonElement): Promise<void> {
    clicked.disabled = true
    trouble.replaceChildren()
    try {
      if (await revokeKey(api, key)) await load()
    } catch (error) {
      if (!isAbort(error)) trouble.replaceChildren(problemNotice(error))
    } finally {
      clicked.disabled = false
    }
  }
  void load()
  const head = element('div', { class: 'head-row' }, element('h1', {}, 'Keys'), make)
  return accountPage('keys', head, trouble, content)
}

/** What to do with a key that may make none. */
function advice({ account_id, key: { permissions } }: AccountRecord): HTMLElement {
  const wanted = [...permissions, 'keys:write'].join(',')
  return element(
    'div',
    { class: 'notice mild' },
    element(
      'div',
      {},
      element('strong', {}, 'The key that you use here may not make others'),
      element(
        'p',
        {},
        'Sign in with one that has the permission ',
        element('code', {}, 'keys:write'),
        ', or ask whoever runs this server for one: ',
        element('code', {}, `mediagen admin keys create --account ${account_id} --permissions ${wanted}`),
      ),
    ),
  )
}

function describeTimes(
  { created_at, last_used_at, expires_at, revoked_at, made_by }: KeyRecord,
  isOwn: boolean,
  maker: KeyRecord | undefined,
): (Node | string)[] {
  const by = made_by === null ? 'the operator' : (maker?.name ?? (maker ? `${maker.prefix}…` : 'another key'))
  // The own key is in use now; its record says so up to a minute later.
  const used = isOwn ? ['Used now'] : last_used_at === null ? ['Never used'] : ['Used ', moment(last_used_at)]
  const end =
    revoked_at !== null
      ? [' · revoked ', moment(revoked_at)]
      : expires_at === null
        ? []
        : [` · ${Date.parse(expires_at) <= Date.now() ? 'expired' : 'works until'} ${toDay(expires_at)}`]
  return [...used, ` · made by ${by} on ${toDay(created_at)}`, ...end]
}
