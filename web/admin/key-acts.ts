// What an operator does with API keys: make some at once, limit, revoke. The text of a key is shown once.
import type { CreateKeyResponse, Key } from '../../gen/mediagen/v1/admin_pb.ts'
import { shownOnce } from '../copy-button.ts'
import { offerTable } from '../csv.ts'
import { button, element } from '../element.ts'
import { problemNotice } from '../problem-notice.ts'
import { warnUnmatched } from './account-acts.ts'
import { explainToOperator, toFailure } from './client.ts'
import type { PageDeps } from './deps.ts'
import { openAct } from './dialog.ts'
import { choiceField, momentField, permissionsField, textField } from './fields.ts'
import { allLimits, limitFields } from './limit-fields.ts'
import { emptyNote } from './table.ts'
import { countOf } from './words.ts'

const mostAtOnce = 50
const longestName = 200

/** Asks what keys to make, and for whom. */
export async function openCreateKeys(deps: PageDeps, accountId: string, done: () => void): Promise<void> {
  const { admin, names } = deps
  const choices = await names.all()
  const account = choiceField({
    label: 'Account',
    // Nobody else's is meant where there is one.
    value: accountId || (choices.length === 1 ? (choices[0]?.[0] ?? '') : ''),
    choices: [['', 'Choose an account'], ...choices],
  })
  const whose = textField({
    label: 'Names',
    lines: 3,
    optional: true,
    most: mostAtOnce * (longestName + 1),
    help: `One a line: a key for each, at most ${mostAtOnce}. Empty: one key without a name.`,
  })
  const permissions = permissionsField()
  const expires = momentField({ label: 'Expires', help: 'Empty: never.' })
  const limits = limitFields('the key')

  openAct({
    title: 'Create API keys',
    intro:
      choices.length === 0
        ? [emptyNote('A key belongs to an account, and there is none yet. Create an account first.')]
        : 'Whoever has a key acts for its account, within its permissions and limits. Limits are for each key by itself.',
    fields: [account, whose, ...limits.fields, expires, permissions],
    label: 'Create',
    isShownOnce: true,
    async run() {
      const owner = account.read()
      const lines = whose
        .read()
        .split('\n')
        .map((line) => line.trim())
      const wanted = lines.filter((line) => line !== '')
      if (wanted.length > mostAtOnce) throw new Error(`At most ${mostAtOnce} keys can be made at once.`)
      const common = {
        accountId: owner,
        permissions: permissions.read(),
        limits: limits.read(),
        ...withExpiry(expires.read()),
      }
      const made: CreateKeyResponse[] = []
      // What was made before a failure must be shown: its text is nowhere else.
      let failure: unknown = null
      for (const name of wanted.length > 0 ? wanted : ['']) {
        try {
          made.push(await admin.createKey({ ...common, name }))
        } catch (error) {
          if (made.length === 0) throw error
          failure = error
          break
        }
      }
      return showSecrets(made, failure)
    },
    done,
  })
}

function withExpiry(expiresAt: ReturnType<ReturnType<typeof momentField>['read']>) {
  return expiresAt ? { expiresAt } : {}
}

/** The texts of new keys, to copy or to save; `failure` is why there are not more. */
function showSecrets(made: readonly CreateKeyResponse[], failure: unknown): HTMLElement {
  const nameOf = ({ key }: CreateKeyResponse): string => key?.name ?? ''
  const save = button(
    'Save as CSV',
    () =>
      offerTable('keys', [['name', 'key_id', 'key'], ...made.map((one) => [nameOf(one), one.key?.keyId, one.secret])]),
    { icon: 'download', look: 'quiet small' },
  )
  return element(
    'div',
    { class: 'secrets' },
    element(
      'p',
      {},
      element('strong', {}, `${countOf(made.length, 'key')} made. Copy ${made.length === 1 ? 'it' : 'them'} now:`),
      ' the server does not store the text, and it cannot be shown again.',
    ),
    ...made.map((one) =>
      element(
        'div',
        {},
        nameOf(one) === '' ? null : element('p', { class: 'label' }, nameOf(one)),
        shownOnce(one.secret, `Key ${nameOf(one)}`, 'quiet small'),
      ),
    ),
    made.length > 1 ? element('p', {}, save) : null,
    warnUnmatched(made[0]?.unmatchedModels ?? []) ?? null,
    failure === null ? null : element('p', {}, 'The others were not made:'),
    failure === null ? null : problemNotice(toFailure(failure), undefined, explainToOperator),
  )
}

/** What a key is called, for titles. */
export function titleOf({ name, prefix }: Pick<Key, 'name' | 'prefix'>): string {
  if (prefix === 'mgs_') return name ?? 'a person who signs in'
  return name ? `${name} (${prefix}…)` : `${prefix}…`
}

/** Asks for limits of a key. */
export function openKeyLimits({ admin }: PageDeps, key: Key, done: () => void): void {
  const limits = limitFields('the key', key.limits)
  openAct({
    title: `Limits of ${titleOf(key)}`,
    intro: 'They apply from the next start on. A field that is empty limits nothing.',
    fields: limits.fields,
    label: 'Save limits',
    async run() {
      const { unmatchedModels } = await admin.changeKeyLimits({
        keyId: key.keyId,
        limits: limits.read(),
        updateMask: { paths: [...allLimits] },
      })
      return warnUnmatched(unmatchedModels)
    },
    done,
  })
}

/** Asks whether to revoke a key. */
export function openRevoke({ admin }: PageDeps, key: Key, done: () => void): void {
  openAct({
    title: `Revoke ${titleOf(key)}`,
    intro: [
      'It stops working everywhere within a second, and so do the keys that it made. This cannot be undone.',
      'Jobs that it started go on.',
    ],
    label: 'Revoke the key',
    isFinal: true,
    async run() {
      await admin.revokeKey({ keyId: key.keyId })
    },
    done,
  })
}
