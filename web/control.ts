// The interface of every form control, and the frame around one: label, explanation, error.
import { element, icon, uniqueId } from './element.ts'
import type { Field } from './form-model.ts'
import type { FormNode } from './form-value.ts'
import type { SlotDeps } from './media-slot.ts'
import type { Json } from './records.ts'

/** A field on the page. */
export interface Control extends FormNode<Control> {
  readonly field: Field
  readonly element: HTMLElement
  /** The entered value; undefined for none. */
  read(): Json | undefined
  /** Shows a value; undefined empties the field. */
  write(value: Json | undefined): void
  /** Shows an error; null removes it. */
  showError(words: string | null): void
  /** The message for a missing required value; there is a default. */
  missingWords?(): string | null
  /** Accepts files that were dropped or pasted anywhere; false if it cannot take them. */
  takeFiles?(files: readonly File[]): boolean
  focus(): void
}

/** The parameters of a control. */
export interface ControlContext extends SlotDeps {
  /** Called after every change by the user. */
  readonly onChange: () => void
  /** Largest file that the server accepts, in bytes. */
  readonly largestUpload: number
  readonly make: (field: Field, context: ControlContext) => Control
}

// A longer explanation is collapsed.
const longExplanation = 120

export interface Frame {
  readonly element: HTMLElement
  readonly inputId: string
  /** For `aria-describedby` of the input. */
  readonly describedBy: string
  showError(words: string | null): void
  /** Shows why a file was not taken. It stays, whatever else becomes of the field, until the next files come. */
  showRefusedFiles(words: string | null): void
}

/** Label, explanation and error around an input; `grouped` names a set of inputs instead of one. */
export function createFrame(
  field: Field,
  content: (frame: { inputId: string; describedBy: string; labelId: string }) => readonly (Node | null)[],
  options: { grouped?: boolean; aside?: Node | null } = {},
): Frame {
  const inputId = uniqueId('field')
  const [labelId, helpId, errorId] = [`${inputId}-label`, `${inputId}-help`, `${inputId}-error`]
  const describedBy = `${field.description ? `${helpId} ` : ''}${errorId}`
  const words = [
    field.title || 'Value',
    field.required || field.fallback !== undefined ? null : element('span', { class: 'optional' }, 'optional'),
  ]
  const label = options.grouped
    ? element('span', { id: labelId, class: 'label' }, ...words)
    : element('label', { id: labelId, class: 'label', for: inputId }, ...words)
  const error = element('p', { id: errorId, class: 'field-error' })
  const frame = element(
    'div',
    {
      class: `field field-${field.kind}`,
      'data-name': field.name,
      ...(options.grouped && { role: 'group', 'aria-labelledby': labelId, 'aria-describedby': describedBy }),
    },
    element('div', { class: 'label-row' }, label, options.aside ?? null),
    ...content({ inputId, describedBy, labelId }),
    error,
    field.description ? explanation(field.description, helpId) : null,
  )
  let refused: string | null = null
  let wrong: string | null = null
  function show(): void {
    const said = [refused, wrong].filter((words) => words !== null).join(' ')
    error.replaceChildren(...(said === '' ? [] : [icon('warning'), said]))
    frame.classList.toggle('wrong', said !== '')
    for (const input of frame.querySelectorAll(`[id="${inputId}"]`))
      input.setAttribute('aria-invalid', String(said !== ''))
  }
  return {
    element: frame,
    inputId,
    describedBy,
    showError(problem) {
      wrong = problem
      show()
    },
    showRefusedFiles(problem) {
      refused = problem
      show()
    },
  }
}

/** An explanation; a long one is collapsed. */
export function explanation(text: string, id: string): HTMLElement {
  const words = element('p', { id, class: 'help' }, text)
  if (text.length <= longExplanation) return words
  words.classList.add('folded')
  const more = element(
    'button',
    { type: 'button', class: 'more', 'aria-expanded': 'false', 'aria-controls': id, onclick: toggle },
    'More',
  )
  function toggle(): void {
    const folded = words.classList.toggle('folded')
    more.setAttribute('aria-expanded', String(!folded))
    more.textContent = folded ? 'More' : 'Less'
  }
  return element('div', {}, words, more)
}

/** The text for an example value. */
export function toPlaceholder(value: Json | undefined): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
