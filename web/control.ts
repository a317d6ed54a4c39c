// The shape that every form control has, and the frame around one: label, explanation, error.
import { element, icon, uniqueId } from './element.ts'
import type { Field } from './form-model.ts'
import type { FormNode } from './form-value.ts'
import type { SlotParts } from './media-slot.ts'
import type { Json } from './records.ts'

/** A field on the page. */
export interface Control extends FormNode<Control> {
  readonly field: Field
  readonly element: HTMLElement
  /** What is entered; undefined for nothing. */
  read(): Json | undefined
  /** Shows a value; undefined empties the field. */
  write(value: Json | undefined): void
  /** Shows what is wrong here; null takes it away. */
  showError(words: string | null): void
  /** What to say where nothing is entered that is needed; without it, that it is needed. */
  missingWords?(): string | null
  /** Takes files that were dropped or pasted anywhere; false when there is no place for them. */
  takeFiles?(files: readonly File[]): boolean
  focus(): void
}

/** What a control is given. */
export interface ControlContext extends SlotParts {
  /** Told after every change that a person makes. */
  readonly onChange: () => void
  /** Largest file that the server takes, in bytes. */
  readonly largestUpload: number
  readonly make: (field: Field, context: ControlContext) => Control
}

// A longer explanation opens on request.
const longExplanation = 120

export interface Frame {
  readonly element: HTMLElement
  readonly inputId: string
  /** For `aria-describedby` of the input. */
  readonly describedBy: string
  showError(words: string | null): void
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
  return {
    element: frame,
    inputId,
    describedBy,
    showError(problem) {
      error.replaceChildren(...(problem === null ? [] : [icon('warning'), problem]))
      frame.classList.toggle('wrong', problem !== null)
      for (const input of frame.querySelectorAll(`[id="${inputId}"]`))
        input.setAttribute('aria-invalid', String(problem !== null))
    },
  }
}

/** Words that tell what something is; long ones are folded. */
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

/** The words for something that is an example of what to enter. */
export function toPlaceholder(value: Json | undefined): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
