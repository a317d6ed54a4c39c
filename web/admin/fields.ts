// Fields of the operator's dialogs. Each reads its value, and says at its place what is wrong with it.
import { type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Permission } from '../../gen/mediagen/v1/options_pb.ts'
import { element, icon, uniqueId } from '../element.ts'
import { namePermissions, permissionWords } from './words.ts'

/** A field. */
export interface Field<Value> {
  readonly element: HTMLElement
  /** @throws WrongField */
  read(): Value
}

/** A value that cannot be sent; the field has said why. */
export class WrongField extends Error {}

interface FieldOptions {
  readonly label: string
  readonly help?: string
  readonly optional?: boolean
}

/** A label, a control, what is wrong with it. */
function wrap<Value>(
  { label, help, optional = false }: FieldOptions,
  control: HTMLElement & { value: string },
  read: (text: string) => Value | WrongField,
): Field<Value> {
  const id = uniqueId('field')
  const error = element('p', { class: 'field-error', id: `${id}-error`, role: 'alert' })
  control.id = id
  control.setAttribute('aria-describedby', `${id}-error${help ? ` ${id}-help` : ''}`)
  const place = element(
    'div',
    { class: 'field' },
    element(
      'div',
      { class: 'label-row' },
      element(
        'label',
        { class: 'label', for: id },
        label,
        optional ? element('span', { class: 'optional' }, 'optional') : null,
      ),
    ),
    control.tagName === 'SELECT' ? element('div', { class: 'select' }, control) : control,
    help ? element('p', { class: 'help', id: `${id}-help` }, help) : null,
    error,
  )
  return {
    element: place,
    read() {
      const value = read(control.value.trim())
      const isWrong = value instanceof WrongField
      place.classList.toggle('wrong', isWrong)
      if (!isWrong) {
        control.removeAttribute('aria-invalid')
        error.replaceChildren()
        return value
      }
      control.setAttribute('aria-invalid', 'true')
      error.replaceChildren(icon('warning'), value.message)
      control.focus()
      throw value
    },
  }
}

/** One line of text, or several. */
export function textField({
  value = '',
  lines = 1,
  most = 1000,
  ...options
}: FieldOptions & { value?: string; lines?: number; most?: number }): Field<string> {
  const control =
    lines > 1
      ? element('textarea', { class: 'input', rows: lines, spellcheck: 'false' }, value)
      : element('input', { class: 'input', type: 'text', value, autocomplete: 'off' })
  return wrap(options, control, (text) => {
    if (text === '' && !options.optional) return new WrongField('This is needed.')
    return text.length > most ? new WrongField(`At most ${most.toLocaleString('en-US')} characters.`) : text
  })
}

/** A whole number; undefined if it is left empty. */
export function creditsField({
  value,
  least = 0n,
  most,
  ...options
}: FieldOptions & { value?: bigint | undefined; least?: bigint; most?: bigint }): Field<bigint | undefined> {
  const control = element('input', {
    class: 'input number',
    type: 'text',
    inputmode: 'numeric',
    autocomplete: 'off',
    value: value === undefined ? '' : String(value),
  })
  return wrap(options, control, (text) => {
    if (text === '') return options.optional ? undefined : new WrongField('This is needed.')
    const digits = text.replaceAll(/[\s,']/g, '').replace('−', '-')
    if (!/^-?\d{1,16}$/.test(digits)) return new WrongField('A whole number, such as 1000.')
    const number = BigInt(digits)
    if (number < least) return new WrongField(`At least ${least.toLocaleString('en-US')}.`)
    if (most !== undefined && number > most) return new WrongField(`At most ${most.toLocaleString('en-US')}.`)
    return number
  })
}

/** A choice. */
export function choiceField(
  options: FieldOptions & {
    value?: string
    choices: readonly (readonly [value: string, words: string])[]
  },
): Field<string> {
  const control = element(
    'select',
    { class: 'input' },
    ...options.choices.map(([value, words]) => element('option', { value, selected: value === options.value }, words)),
  )
  return wrap(options, control, (text) => (text === '' ? new WrongField('Choose one.') : text))
}

/** A day and time in the reader's time zone; undefined if it is left empty. */
export function momentField({
  value,
  ...options
}: FieldOptions & { value?: Timestamp | undefined }): Field<Timestamp | undefined> {
  const local = value && timestampDate(value)
  const shown = local && new Date(local.getTime() - local.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
  const control = element('input', { class: 'input', type: 'datetime-local', value: shown })
  return wrap({ optional: true, ...options }, control, (text) => {
    // The browser reads nothing from a date that is half written.
    if (control.validity.badInput) return new WrongField('A day and a time.')
    if (text === '') return undefined
    const at = new Date(text)
    return at.getTime() <= Date.now() ? new WrongField('This is over. Choose a later time.') : timestampFromDate(at)
  })
}

/** Something to agree to. */
export function agreeField(label: string, isNeeded = true): Field<boolean> {
  const box = element('input', { type: 'checkbox' })
  const error = element('p', { class: 'field-error', role: 'alert' })
  return {
    element: element('div', { class: 'field' }, element('label', { class: 'check' }, box, label), error),
    read() {
      const isMissing = isNeeded && !box.checked
      error.textContent = isMissing ? 'Tick this first.' : ''
      if (!isMissing) return box.checked
      box.focus()
      throw new WrongField(label)
    },
  }
}

/** What a key may do. */
export function permissionsField(): Field<Permission[]> {
  const boxes = permissionWords.map(({ permission, name, words, isEveryday }) => {
    const box = element('input', { type: 'checkbox', checked: isEveryday, value: name })
    return {
      box,
      permission,
      element: element('label', { class: 'check' }, box, element('code', {}, name), element('span', {}, words)),
    }
  })
  const error = element('p', { class: 'field-error', role: 'alert' })
  return {
    element: element(
      'fieldset',
      { class: 'group field' },
      element('legend', {}, 'Permissions'),
      ...boxes.map((one) => one.element),
      error,
    ),
    read() {
      const chosen = boxes.filter(({ box }) => box.checked).map(({ permission }) => permission)
      error.textContent = chosen.length === 0 ? 'At least one.' : ''
      if (chosen.length > 0) return chosen
      boxes[0]?.box.focus()
      throw new WrongField(namePermissions(chosen))
    },
  }
}
