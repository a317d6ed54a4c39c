// Controls for choices: chips or a drop-down list, a switch, and a constant.
import { type Control, type ControlContext, createFrame } from './control.ts'
import { element, uniqueId } from './element.ts'
import type { ChoiceField, ConstantField, SwitchField } from './form-model.ts'
import { toLocalUrl } from './job-words.ts'
import type { Json } from './records.ts'
import { soundButton } from './sound-button.ts'
import { identify } from './text-control.ts'

export function choiceControl(field: ChoiceField, context: ControlContext): Control {
  return field.layout === 'chips' ? chips(field, context) : dropDown(field, context)
}

function chips(field: ChoiceField, { onChange }: ControlContext): Control {
  const name = uniqueId('choice')
  const radios = field.words.map(({ details }, index) =>
    element('input', {
      type: 'radio',
      name,
      value: index,
      id: `${name}-${index}`,
      title: details || null,
      onchange: () => {
        explainChosen()
        onChange()
      },
      onclick: release,
    }),
  )
  const explained = field.words.some(({ details }) => details !== '')
  const words = element('p', { class: 'help option-words', 'aria-hidden': 'true' })
  const frame = createFrame(
    field,
    () => [
      element(
        'div',
        { class: 'chips', onpointerover: explainPointed, onpointerleave: explainChosen },
        ...radios.flatMap((radio, index) => [radio, chip(radio, index)]),
      ),
      explained ? words : null,
    ],
    { grouped: true },
  )
  let chosen: HTMLInputElement | null = null

  /** An option with its title; one that can be heard has a button beside it. */
  function chip(radio: HTMLInputElement, index: number): HTMLElement {
    const { title = '', sound = null } = field.words[index] ?? {}
    const label = element('label', { class: 'chip', for: radio.id }, title)
    if (sound === null) return label
    return element('span', { class: 'with-sound' }, label, soundButton(toLocalUrl(sound, location.origin), title))
  }
  function explain(index: number): void {
    words.textContent = field.words[index]?.details ?? ''
  }
  function explainChosen(): void {
    explain(radios.findIndex((radio) => radio.checked))
  }
  function explainPointed({ target }: PointerEvent): void {
    const label = target instanceof Element ? target.closest('.chip') : null
    if (label instanceof HTMLLabelElement) explain(radios.findIndex(({ id }) => id === label.htmlFor))
  }
  // An optional choice can be cleared.
  function release(event: MouseEvent): void {
    const radio = event.target as HTMLInputElement
    const again = radio === chosen && !field.required && field.fallback === undefined
    if (again) radio.checked = false
    chosen = again ? null : radio
    if (!again) return
    explainChosen()
    onChange()
  }
  return {
    field,
    element: frame.element,
    read: () => field.options[radios.findIndex((radio) => radio.checked)],
    write(value) {
      chosen = null
      radios.forEach((radio, index) => {
        radio.checked = field.options[index] === value
        if (radio.checked) chosen = radio
      })
      explainChosen()
    },
    showError: frame.showError,
    focus: () => (radios.find((radio) => radio.checked) ?? radios[0])?.focus(),
    child: () => undefined,
  }
}

function dropDown(field: ChoiceField, { onChange }: ControlContext): Control {
  const select = element('select', { class: 'input', onchange: onChange })
  if (field.fallback === undefined)
    select.append(element('option', { value: '' }, field.required ? 'Choose…' : 'Not set'))
  field.words.forEach(({ title }, index) => select.append(element('option', { value: index }, title)))
  const frame = createFrame(field, ({ inputId, describedBy }) => [
    element('div', { class: 'select' }, identify(select, inputId, describedBy)),
  ])
  return {
    field,
    element: frame.element,
    read: () => (select.value === '' ? undefined : field.options[Number(select.value)]),
    write(value) {
      const index = field.options.findIndex((option) => option === value)
      select.value = index < 0 ? '' : String(index)
    },
    showError: frame.showError,
    focus: () => select.focus(),
    child: () => undefined,
  }
}

export function switchControl(field: SwitchField, { onChange }: ControlContext): Control {
  let touched = false
  const input = element('input', { type: 'checkbox', role: 'switch', class: 'switch', onchange: changed })
  const frame = createFrame({ ...field, required: true }, ({ inputId, describedBy }) => [
    identify(input, inputId, describedBy),
  ])
  function changed(): void {
    touched = true
    onChange()
  }
  return {
    field,
    element: frame.element,
    read: (): Json | undefined =>
      touched || field.required || field.fallback !== undefined ? input.checked : undefined,
    write(value) {
      input.checked = value === true
      touched = value !== undefined
    },
    showError: frame.showError,
    focus: () => input.focus(),
    child: () => undefined,
  }
}

/** A constant, with nothing to choose. */
export function constantControl(field: ConstantField): Control {
  const frame = createFrame({ ...field, required: true }, () => [], { grouped: true })
  return {
    field,
    element: frame.element,
    read: () => field.value,
    write: () => {},
    showError: frame.showError,
    focus: () => {},
    child: () => undefined,
  }
}
