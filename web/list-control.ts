// A list: parts that are added, moved and taken away; or the whole of it written as JSON.
import { type Control, type ControlContext, createFrame } from './control.ts'
import { button, element } from './element.ts'
import { type Field, isObject, type ListField } from './form-model.ts'
import { startingValue } from './form-value.ts'
import type { Json } from './records.ts'
import { jsonControl } from './text-control.ts'

interface Item {
  readonly control: Control
  readonly element: HTMLElement
  readonly buttons: { readonly up: HTMLButtonElement; readonly down: HTMLButtonElement }
}

export function listControl(field: ListField, context: ControlContext): Control {
  const { item, maxItems } = field
  let items: Item[] = []
  const list = element('ol', { class: 'items' })
  const adder = createAdder(field, add)
  const parts = element('div', { class: 'parts' }, list, adder)
  const json = jsonControl({ ...field, description: '', title: `${field.title} as JSON` }, context)
  const asJson = element('div', { class: 'as-json', hidden: true }, json.element)
  const toggle = button('Edit as JSON', toggleJson, { look: 'text' })
  const frame = createFrame(field, () => [parts, asJson], { grouped: true, aside: toggle })

  function append(value: Json | undefined): Item {
    const control = context.make({ ...item, title: item.title || field.title }, context)
    control.write(value)
    const up = button('Move up', () => move(made, -1), { icon: 'up', look: 'bare square', wordless: true })
    const down = button('Move down', () => move(made, 1), { icon: 'down', look: 'bare square', wordless: true })
    const remove = button('Remove', () => take(made), { icon: 'close', look: 'bare square', wordless: true })
    const made: Item = {
      control,
      element: element(
        'li',
        { class: 'item' },
        element('div', { class: 'item-body' }, control.element),
        element('div', { class: 'item-buttons' }, up, down, remove),
      ),
      buttons: { up, down },
    }
    items.push(made)
    list.append(made.element)
    return made
  }
  function add(value: Json | undefined): void {
    const made = append(value)
    settle()
    made.control.focus()
    context.onChange()
  }
  function take(made: Item): void {
    items = items.filter((one) => one !== made)
    made.element.remove()
    settle()
    adder.querySelector('select')?.focus()
    context.onChange()
  }
  function move(made: Item, by: number): void {
    const from = items.indexOf(made)
    const to = from + by
    items.splice(from, 1)
    items.splice(to, 0, made)
    list.replaceChildren(...items.map((one) => one.element))
    settle()
    const { up, down } = made.buttons
    ;(by < 0 && !up.disabled ? up : down.disabled ? up : down).focus()
    context.onChange()
  }
  function settle(): void {
    items.forEach(({ buttons }, index) => {
      buttons.up.disabled = index === 0
      buttons.down.disabled = index === items.length - 1
    })
    adder.hidden = items.length >= maxItems
    list.hidden = items.length === 0
  }
  function readParts(): Json | undefined {
    const values = items.map(({ control }) => control.read() ?? null)
    return values.length === 0 && !field.required && field.minItems === 0 && field.fallback === undefined
      ? undefined
      : values
  }
  function writeParts(value: Json | undefined): void {
    items = []
    list.replaceChildren()
    if (Array.isArray(value)) for (const one of value) append(one)
    settle()
  }
  function toggleJson(): void {
    const toJson = asJson.hidden
    if (toJson) json.write(readParts() ?? [])
    else if (hasPlaceFor(item, json.read())) writeParts(json.read())
    else return json.showError('The form has no place for this: it is to be a list of parts, each with a known key.')
    asJson.hidden = !toJson
    parts.hidden = toJson
    toggle.textContent = toJson ? 'Edit as form' : 'Edit as JSON'
    context.onChange()
  }

  settle()
  return {
    field,
    element: frame.element,
    read: () => (asJson.hidden ? readParts() : json.read()),
    write(value) {
      if (hasPlaceFor(item, value)) writeParts(value)
      json.write(value)
    },
    showError(words) {
      frame.showError(words)
      if (words === null) for (const { control } of items) control.showError(null)
    },
    focus: () => (items[0] ? items[0].control.focus() : (adder.querySelector('select') ?? adder).focus()),
    child: (index) => (asJson.hidden ? items[Number(index)]?.control : undefined),
  }
}

/** What adds a part: a button, or the choice of what to add. */
function createAdder({ item, title }: ListField, add: (value: Json | undefined) => void): HTMLElement {
  if (item.kind !== 'pick') {
    const label = `Add ${item.title ? item.title.toLowerCase() : 'another'}`
    return button(label, () => add(startingValue(item)), { icon: 'plus', look: 'quiet' })
  }
  const { options } = item
  const invitation = element('option', { value: '' }, `Add ${(item.title || 'part').toLowerCase()}…`)
  const select = element('select', {
    class: 'input',
    'aria-label': `Add to ${title.toLowerCase()}`,
    onchange() {
      const option = options.find(({ name }) => name === select.value)
      select.value = ''
      if (option) add({ [option.name]: startingValue(option) ?? null })
    },
  })
  select.append(invitation, ...options.map((option) => element('option', { value: option.name }, option.title)))
  return element('div', { class: 'select adder' }, select)
}

/** Whether parts can show this list without losing any of it. */
function hasPlaceFor(item: Field, value: Json | undefined): boolean {
  if (value === undefined) return true
  if (!Array.isArray(value)) return false
  if (item.kind !== 'pick') return true
  return value.every(
    (one) => isObject(one) && Object.keys(one).length === 1 && item.options.some(({ name }) => name in one),
  )
}
