// Dialogs about keys: make one, whose text is shown once; change the limits of one; revoke one.
import type { Api } from '../api.ts'
import { shownOnce } from '../copy-button.ts'
import { dateField } from '../date-field.ts'
import { askFirst, openDialog } from '../dialog.ts'
import { element, uniqueId } from '../element.ts'
import type { CreatedKeyRecord, KeyRecord, LimitedKeyRecord } from '../records.ts'
import { openForm } from './form-dialog.ts'
import { type Permission, rights } from './key-words.ts'
import { limitFields } from './limit-fields.ts'

const usualRights: ReadonlySet<Permission> = new Set(['generate', 'models:read', 'jobs:read'])
const longestName = 200
const dayMs = 86_400_000

/** Makes a key that may do no more than `own`; `onMade` is called when there is one. */
export function makeKey(api: Api, own: KeyRecord, onMade: () => void): void {
  const nameId = uniqueId('key-name')
  const name = element('input', { class: 'input', id: nameId, maxlength: longestName, autocomplete: 'off' })
  const choices = own.permissions.filter((right) => right !== 'keys:write').map((right) => ({ right, ...check(right) }))
  const none = element('p', { class: 'field-error', role: 'alert' })
  const limits = limitFields(null, own.limits)
  const lastDay = dateField('Works until', {
    first: toLocalDay(Date.now()),
    hint: own.expires_at ? 'Empty for as long as your own key.' : 'The end of this day; empty for ever.',
  })
  openForm({
    title: 'Make a key',
    label: 'Make the key',
    fields: [
      element('div', {}, element('label', { class: 'label', for: nameId }, 'Name'), name),
      element(
        'fieldset',
        {},
        element('legend', { class: 'label' }, 'It may'),
        element('div', { class: 'checks' }, ...choices.map(({ element: row }) => row)),
        none,
      ),
      lastDay.element,
      element(
        'details',
        { class: 'more-fields' },
        element('summary', {}, 'Limits: credits, websites, models'),
        limits.element,
      ),
    ],
    read() {
      const permissions = choices.filter(({ box }) => box.checked).map(({ right }) => right)
      const [change, day] = [limits.read(), lastDay.read()]
      none.textContent = permissions.length === 0 ? 'Choose at least one.' : ''
      if (permissions.length === 0 || change === null || day === null) return null
      const expires = day === '' ? null : new Date(new Date(`${day}T00:00`).getTime() + dayMs).toISOString()
      return {
        permissions,
        name: name.value.trim() || null,
        ...(Object.keys(change).length > 0 && { limits: change }),
        ...(expires && { expires_at: expires }),
      }
    },
    send: (wanted) => api.post<CreatedKeyRecord>('/v1/keys', wanted),
    sent(made) {
      onMade()
      showKey(made)
    },
  })
}

/** What is shown once of a new key. */
function showKey(made: CreatedKeyRecord): void {
  const { unmatched_models: unmatched } = made
  openDialog(
    made.name === null ? 'Your new key' : `The key “${made.name}”`,
    [
      element('p', {}, 'Copy it now. It is shown only this once, and nobody can read it later.'),
      shownOnce(made.key, 'The text of the key'),
      unmatched.length === 0
        ? ''
        : element('p', { class: 'fine' }, `No model of this server is called ${unmatched.join(', ')}.`),
      element(
        'p',
        { class: 'fine' },
        'Keep it where others cannot read it, such as in an environment variable. If it gets known, revoke it here and make another.',
      ),
    ],
    { keep: true },
  )
}

/** Changes what a key may spend and where; `onChanged` is called when it has. */
export function changeLimits(api: Api, key: KeyRecord, own: KeyRecord, onChanged: () => void): void {
  const fields = limitFields(key.limits, own.limits)
  openForm({
    title: `Limits of ${nameKey(key)}`,
    label: 'Save',
    fields: [fields.element],
    read: fields.read,
    async send(limits) {
      if (Object.keys(limits).length === 0) return false
      await api.patch<LimitedKeyRecord>(`/v1/keys/${encodeURIComponent(key.key_id)}`, { limits })
      return true
    },
    sent: (isChanged) => isChanged && onChanged(),
  })
}

/** Asks, then revokes a key; false if it was kept. @throws Refused, Unreachable */
export async function revokeKey(api: Api, key: KeyRecord): Promise<boolean> {
  const words =
    'Programs that use it, or keys that it made, are refused everywhere from now on. What it started goes on. This cannot be undone.'
  if (!(await askFirst(`Revoke ${nameKey(key)}?`, words, { yes: 'Revoke' }))) return false
  await api.remove(`/v1/keys/${encodeURIComponent(key.key_id)}`)
  return true
}

export function nameKey({ name, prefix }: Pick<KeyRecord, 'name' | 'prefix'>): string {
  return name === null ? `the key ${prefix}…` : `“${name}”`
}

function check(right: Permission): { element: HTMLElement; box: HTMLInputElement } {
  const id = uniqueId('right')
  const box = element('input', { type: 'checkbox', id, checked: usualRights.has(right) })
  const { label, help } = rights[right]
  return {
    box,
    element: element(
      'div',
      { class: 'check' },
      box,
      element('label', { for: id }, label, element('span', { class: 'fine' }, ` ${help}`)),
    ),
  }
}

function toLocalDay(ms: number): string {
  const at = new Date(ms)
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, '0')).join('-')
}
