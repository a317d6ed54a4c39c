// The fields of a form for what a key may spend and where it works.
import { element, uniqueId } from '../element.ts'
import type { LimitsRecord } from '../records.ts'
import { type CreditLimit, creditLimits } from './key-words.ts'

/** Limits as the server reads them; those that stay are left out. */
export type LimitsChange = { [limit in CreditLimit]?: number | null } & {
  models?: string[] | null
  origins?: string[] | null
}

export interface LimitFields {
  readonly element: HTMLElement
  /** What differs from the limits that the fields began with; null if a field is wrong, which is then said beside it. */
  read(): LimitsChange | null
}

/**
 * Creates the fields.
 * @param now the limits so far; null for a new key
 * @param most the limits of the calling key, within which others lie
 */
export function limitFields(now: LimitsRecord | null, most: LimitsRecord): LimitFields {
  const numbers = creditLimits.map(([name, label]) => creditField(name, label, now?.[name] ?? null, most[name]))
  const origins = listField('Only on these websites', 'https://shop.example', now?.origins ?? [], most.origins)
  const models = listField('Only these models', 'fal/flux', now?.models ?? [], most.models)
  return {
    element: element(
      'div',
      { class: 'dialog-form' },
      element(
        'fieldset',
        {},
        element('legend', { class: 'label' }, 'Credits it may spend, at most'),
        element('div', { class: 'credit-fields' }, ...numbers.map(({ element: field }) => field)),
      ),
      origins.element,
      models.element,
    ),
    read() {
      const change: LimitsChange = {}
      let wrong = false
      for (const { name, read } of numbers) {
        const value = read()
        if (value === undefined) wrong = true
        else if (value !== (now?.[name] ?? null)) change[name] = value
      }
      for (const [name, field] of [
        ['origins', origins],
        ['models', models],
      ] as const) {
        const value = field.read()
        if (value.join('\n') !== (now?.[name] ?? []).join('\n')) change[name] = value.length > 0 ? value : null
      }
      return wrong ? null : change
    },
  }
}

function creditField(name: CreditLimit, label: string, value: number | null, most: number | null) {
  const id = uniqueId('limit')
  const error = element('p', { class: 'field-error', id: `${id}-error`, role: 'alert' })
  const field = element('input', {
    class: 'input',
    id,
    inputmode: 'numeric',
    autocomplete: 'off',
    value: value ?? '',
    placeholder: most === null ? 'no limit' : `up to ${most.toLocaleString('en-US')}`,
    'aria-describedby': `${id}-error`,
  })
  return {
    name,
    element: element('div', {}, element('label', { class: 'fine', for: id }, label), field, error),
    /** Undefined for what is no limit. */
    read(): number | null | undefined {
      const text = field.value.replaceAll(/[\s,]/g, '')
      const number = Number(text)
      const isWrong = text !== '' && !(/^\d+$/.test(text) && Number.isSafeInteger(number))
      error.textContent = isWrong ? 'Write whole credits.' : ''
      if (isWrong) return undefined
      return text === '' ? null : number
    },
  }
}

function listField(label: string, example: string, value: readonly string[], most: readonly string[]) {
  const id = uniqueId('list')
  const field = element('input', {
    class: 'input',
    id,
    autocomplete: 'off',
    spellcheck: 'false',
    value: value.join(', '),
    placeholder: most.length > 0 ? most.join(', ') : `all, or ${example}`,
    'aria-describedby': `${id}-help`,
  })
  return {
    element: element(
      'div',
      {},
      element('label', { class: 'label', for: id }, label),
      field,
      element('p', { class: 'help', id: `${id}-help` }, 'Several are separated by commas; empty for all.'),
    ),
    read: (): string[] => field.value.split(/[\s,]+/).filter((text) => text !== ''),
  }
}
