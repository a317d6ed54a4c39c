// What an operator does with accounts: create, rename, limit, grant, correct, freeze, close.
import { type Account, AccountStatus } from '../../gen/mediagen/v1/admin_pb.ts'
import { element } from '../element.ts'
import type { PageDeps } from './deps.ts'
import { openAct } from './dialog.ts'
import { agreeField, creditsField, textField, WrongField } from './fields.ts'
import { allLimits, limitFields } from './limit-fields.ts'
import { countOf, formatNumber } from './words.ts'

const longestName = 200
const largest = 2n ** 53n - 1n

/** Asks for a new account; `created` gets it. */
export function openCreateAccount({ admin }: PageDeps, created: (account: Account) => void): void {
  const name = textField({ label: 'Name', most: longestName, help: 'What you call it, such as a customer or a team.' })
  const credits = creditsField({ label: 'Credits to begin with', value: 0n, most: largest })
  let made: Account | undefined
  openAct({
    title: 'Create an account',
    intro: 'It can own API keys, and spends its credits on generations.',
    fields: [name, credits],
    label: 'Create account',
    async run() {
      const { account } = await admin.createAccount({ name: name.read(), credits: credits.read() ?? 0n })
      made = account
    },
    done: () => made && created(made),
  })
}

/** Asks for another name. */
export function openRename({ admin, names }: PageDeps, { accountId, name }: Account, done: () => void): void {
  const field = textField({ label: 'Name', value: name, most: longestName })
  openAct({
    title: 'Rename the account',
    intro: 'Its id, its keys and its history stay as they are.',
    fields: [field],
    label: 'Rename',
    async run() {
      const { account } = await admin.renameAccount({ accountId, name: field.read() })
      if (account) names.note([account])
    },
    done,
  })
}

/** Asks for credits to grant. */
export function openGrant({ admin }: PageDeps, { accountId, name }: Account, done: () => void): void {
  const credits = creditsField({ label: 'Credits', least: 1n, most: largest })
  const note = textField({ label: 'Reason', optional: true, help: 'The account reads it in its ledger.' })
  const reference = textField({
    label: 'Reference',
    optional: true,
    most: 128,
    help: 'The id of the payment, such as an invoice. A reference is granted once: the same grant again does nothing.',
  })
  openAct({
    title: `Grant credits to ${name}`,
    intro: 'They can be spent at once. A grant stays in the ledger; a correction can take credits away again.',
    fields: [credits, note, reference],
    label: 'Grant',
    async run() {
      const granted = await admin.grantCredits({
        accountId,
        credits: credits.read() ?? 0n,
        note: note.read(),
        reference: reference.read(),
      })
      if (!granted.replayed) return undefined
      return element('p', {}, 'This reference was granted before, and the account got nothing a second time.')
    },
    done,
  })
}

/** Asks for a correction of the balance. */
export function openAdjust({ admin }: PageDeps, { accountId, name, available }: Account, done: () => void): void {
  const credits = creditsField({
    label: 'Credits to add, or to take away with a minus',
    least: -available,
    most: largest,
    help: `${formatNumber(available)} are available; the balance never falls below zero.`,
  })
  const note = textField({ label: 'Reason', help: 'The account reads it in its ledger.' })
  openAct({
    title: `Correct the balance of ${name}`,
    intro: 'For what went wrong. Payments are grants.',
    fields: [credits, note],
    label: 'Correct the balance',
    async run() {
      await admin.adjustCredits({ accountId, credits: credits.read() ?? 0n, note: note.read() })
    },
    done,
  })
}

/** Asks for limits of all keys together. */
export function openAccountLimits({ admin }: PageDeps, account: Account, done: () => void): void {
  const limits = limitFields('the account', account.limits)
  openAct({
    title: `Limits of ${account.name}`,
    intro: 'What all its keys together may spend, from the next start on. A field that is empty limits nothing.',
    fields: limits.fields,
    label: 'Save limits',
    async run() {
      const { unmatchedModels } = await admin.changeAccountLimits({
        accountId: account.accountId,
        limits: limits.read(),
        updateMask: { paths: [...allLimits] },
      })
      return warnUnmatched(unmatchedModels)
    },
    done,
  })
}

/** Says which patterns match no model; nothing if all match. */
export function warnUnmatched(patterns: readonly string[]): HTMLElement | undefined {
  if (patterns.length === 0) return undefined
  return element(
    'p',
    {},
    `Saved. No model of the catalog is called ${patterns.join(', ')} now: ${patterns.length === 1 ? 'this pattern allows' : 'these patterns allow'} nothing until one is.`,
  )
}

/** Asks why an account is frozen, or active again. */
export function openFreeze({ admin }: PageDeps, { accountId, name, status }: Account, done: () => void): void {
  const isFrozen = status === AccountStatus.FROZEN
  const reason = textField({
    label: 'Reason',
    optional: isFrozen,
    ...(!isFrozen && { help: 'The owner reads it when a start is refused.' }),
  })
  openAct({
    title: isFrozen ? `Unfreeze ${name}` : `Freeze ${name}`,
    intro: isFrozen
      ? 'It can start generations and get keys again.'
      : 'It starts nothing and gets no keys until you unfreeze it. Jobs that it has started go on, and its keys still read.',
    fields: [reason],
    label: isFrozen ? 'Unfreeze' : 'Freeze',
    async run() {
      const asked = { accountId, reason: reason.read() }
      await (isFrozen ? admin.unfreezeAccount(asked) : admin.freezeAccount(asked))
    },
    done,
  })
}

/** Asks whether to close an account for ever. */
export function openClose({ admin }: PageDeps, { accountId, name, available }: Account, done: () => void): void {
  const reason = textField({ label: 'Reason' })
  const sure = agreeField('I understand that this cannot be undone')
  openAct({
    title: `Close ${name}`,
    intro: [
      'The account is closed for ever and all its keys are revoked. Its history stays, and so do its credits, which nobody can spend any more.',
      ...(available > 0n ? [`It still has ${countOf(available, 'credit')}.`] : []),
      'This is refused while a job of it has not ended or is under review.',
    ],
    fields: [reason, sure],
    label: 'Close the account',
    isFinal: true,
    async run() {
      const asked = { accountId, reason: reason.read() }
      if (!sure.read()) throw new WrongField()
      const { revokedKeys } = await admin.closeAccount(asked)
      return element(
        'p',
        {},
        `${name} is closed, and ${countOf(revokedKeys, 'key')} ${revokedKeys === 1 ? 'was' : 'were'} revoked.`,
      )
    },
    done,
  })
}
