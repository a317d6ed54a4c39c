// Controls for text, colours and JSON.
import { type Control, type ControlContext, createFrame, toPlaceholder } from './control.ts'
import { button, element } from './element.ts'
import type { ColorField, Field, TextField } from './form-model.ts'
import type { Json } from './records.ts'

export function textControl(field: TextField, { onChange }: ControlContext): Control {
  const attributes = { class: 'input', placeholder: toPlaceholder(field.examples[0]), oninput: changed }
  const input = field.long
    ? element('textarea', { ...attributes, rows: 3 })
    : element('input', { ...attributes, type: 'text', autocomplete: 'off' })
  const counter = element('span', { class: 'counter', 'aria-hidden': 'true' })
  const offered = suggestions()
  const frame = createFrame(field, ({ inputId, describedBy }) => [identify(input, inputId, describedBy), offered], {
    aside: counter,
  })

  /** Examples for a required text. */
  function suggestions(): HTMLElement | null {
    const examples = field.required ? field.examples.slice(0, 3).filter((example) => typeof example === 'string') : []
    if (examples.length === 0) return null
    return element(
      'div',
      { class: 'suggestions', role: 'group', 'aria-label': 'Examples' },
      ...examples.map((example) => button(example, () => suggest(example), { look: 'text' })),
    )
  }
  function suggest(example: string): void {
    input.value = example
    input.focus()
    changed()
  }
  // Examples are shown only while the field is empty, the length only when it is not.
  function count(): void {
    if (offered) offered.hidden = input.value !== ''
    const { maxLength } = field
    // The server counts characters, not the halves of them that `length` counts.
    const length = [...input.value].length
    counter.textContent =
      maxLength === undefined || length === 0
        ? ''
        : `${length.toLocaleString('en-US')} / ${maxLength.toLocaleString('en-US')}`
    counter.classList.toggle('over', maxLength !== undefined && length > maxLength)
  }
  function changed(): void {
    count()
    onChange()
  }
  return {
    field,
    element: frame.element,
    read: () => (input.value === '' ? undefined : input.value),
    write(value) {
      input.value = typeof value === 'string' ? value : ''
      count()
    },
    showError: frame.showError,
    focus: () => input.focus(),
    child: () => undefined,
  }
}

/** A colour as text, with a swatch that opens the system's colour picker. */
export function colorControl(field: ColorField, { onChange }: ControlContext): Control {
  const text = element('input', {
    class: 'input mono',
    type: 'text',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: toPlaceholder(field.examples[0]),
    oninput: changed,
  })
  const swatch = element('input', {
    class: 'swatch',
    type: 'color',
    'aria-label': `${field.title}: choose a colour`,
    oninput: picked,
  })
  const frame = createFrame(field, ({ inputId, describedBy }) => [
    element('div', { class: 'color-row' }, swatch, identify(text, inputId, describedBy)),
  ])

  function showSwatch(): void {
    const color = /^#[0-9a-f]{6}/i.exec(text.value)?.[0]
    swatch.value = color ?? /^#[0-9a-f]{6}/i.exec(String(field.examples[0] ?? ''))?.[0] ?? '#888888'
    swatch.classList.toggle('unset', !color)
  }
  function changed(): void {
    showSwatch()
    onChange()
  }
  function picked(): void {
    // Keeps an alpha value that was entered.
    text.value =
      swatch.value + (/^#[0-9a-f]{8}$/i.test(text.value) && !text.value.endsWith('00') ? text.value.slice(7) : '')
    changed()
  }
  showSwatch()
  return {
    field,
    element: frame.element,
    read: () => (text.value === '' ? undefined : text.value),
    write(value) {
      text.value = typeof value === 'string' ? value : ''
      showSwatch()
    },
    showError: frame.showError,
    focus: () => text.focus(),
    child: () => undefined,
  }
}

export function jsonControl(field: Field, { onChange }: ControlContext): Control {
  const example = field.examples[0] === undefined ? '{ }' : JSON.stringify(field.examples[0], null, 2)
  const input = element('textarea', {
    class: 'input mono',
    rows: 4,
    spellcheck: 'false',
    placeholder: example,
    oninput: changed,
  })
  const frame = createFrame(field, ({ inputId, describedBy }) => [identify(input, inputId, describedBy)], {
    aside: element('span', { class: 'counter' }, 'JSON'),
  })
  let value: Json | undefined

  function changed(): void {
    try {
      value = input.value.trim() === '' ? undefined : (JSON.parse(input.value) as Json)
      frame.showError(null)
    } catch {
      // The last valid value stays in use, and the field says so.
      frame.showError('This is not valid JSON.')
      return
    }
    onChange()
  }
  return {
    field,
    element: frame.element,
    read: () => value,
    write(next) {
      value = next
      input.value = next === undefined ? '' : JSON.stringify(next, null, 2)
    },
    showError: frame.showError,
    focus: () => input.focus(),
    child: () => undefined,
  }
}

/** Connects an input with its label, explanation and error. */
export function identify<Input extends HTMLElement>(input: Input, id: string, describedBy: string): Input {
  input.id = id
  input.setAttribute('aria-describedby', describedBy)
  return input
}
