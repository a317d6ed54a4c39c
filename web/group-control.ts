// Controls for objects: all fields side by side, or the picked one of several keys.
import { aspectPresets } from './aspect-presets.ts'
import type { Control, ControlContext } from './control.ts'
import { element, icon } from './element.ts'
import { type ObjectField, type PickField, isObject } from './form-model.ts'
import { composeObject, initialValue, startingValue } from './form-value.ts'

export function objectControl(field: ObjectField, context: ControlContext, options: { bare?: boolean } = {}): Control {
  const controls = field.fields.map((part) => context.make(part, context))
  const error = element('p', { class: 'field-error', role: 'alert' })
  const rare = controls.filter((part) => part.field.advanced)
  const folded = rare.length > 0 ? foldAdvanced(rare) : null
  const usual = controls.filter((part) => !part.field.advanced).map((part) => part.element)
  const shapes = aspectPresets(controls, context.onChange)
  const width = controls.find((part) => part.field.name === 'width')
  if (shapes && width) usual.splice(usual.indexOf(width.element), 0, shapes)
  const body = element('div', { class: 'fields' }, ...usual, folded, error)
  const whole = options.bare
    ? body
    : element(
        'fieldset',
        { class: 'group' },
        element('legend', {}, field.title),
        field.description ? element('p', { class: 'help' }, field.description) : null,
        body,
      )
  const control: Control = {
    field,
    element: whole,
    read: () => composeObject(field, new Map(controls.map((part) => [part.field.name, part.read()]))),
    write(value) {
      for (const part of controls)
        part.write(isObject(value) && part.field.name in value ? value[part.field.name] : initialValue(part.field))
      // What was set is shown.
      if (
        folded &&
        isObject(value) &&
        rare.some(({ field: { name, fallback } }) => name in value && value[name] !== fallback)
      )
        folded.open = true
    },
    showError(words) {
      error.replaceChildren(...(words === null ? [] : [icon('warning'), words]))
      if (words === null) for (const part of controls) part.showError(null)
    },
    focus: () => controls[0]?.focus(),
    child: (name) => controls.find((part) => part.field.name === name),
  }
  control.write(undefined)
  return control
}

/** Fields that are rarely changed, folded until one is wrong or has another value than its default. */
function foldAdvanced(controls: readonly Control[]): HTMLDetailsElement {
  return element(
    'details',
    { class: 'advanced' },
    element('summary', {}, `Advanced (${controls.length})`),
    element('div', { class: 'fields' }, ...controls.map((part) => part.element)),
  )
}

/** The value is `{ key: … }`; the key is fixed when the value is written. */
export function pickControl(field: PickField, context: ControlContext): Control {
  const whole = element('div', { class: 'pick' })
  let picked: Control | null = null

  function show(name: string): Control | null {
    const option = field.options.find((one) => one.name === name)
    if (!option) return null
    const required = { ...option, required: true }
    picked = context.make(required, context)
    whole.replaceChildren(picked.element)
    return picked
  }
  return {
    field,
    element: whole,
    read: () => (picked ? { [picked.field.name]: picked.read() ?? null } : undefined),
    write(value) {
      const [name, content] = isObject(value) ? (Object.entries(value)[0] ?? []) : []
      const option = name === undefined ? null : show(name)
      option?.write(content ?? startingValue(option.field))
    },
    showError: (words) => picked?.showError(words),
    focus: () => picked?.focus(),
    child: (name) => (picked?.field.name === name ? picked : undefined),
  }
}
