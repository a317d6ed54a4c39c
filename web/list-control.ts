// A list control: items that are added, moved and removed, or the whole list as JSON.
import { type Control, type ControlContext, createFrame } from './control.ts'
import { button, element, icon } from './element.ts'
import { type Field, isObject, type ListField, type MediaField } from './form-model.ts'
import { startingValue } from './form-value.ts'
import { createItemList } from './item-list.ts'
import { mediaHolder } from './media-control.ts'
import { chooseFiles } from './media-file.ts'
import { createMediaPicker } from './media-picker.ts'
import type { Json } from './records.ts'
import { jsonControl } from './text-control.ts'

interface Adder {
  readonly element: HTMLElement
  focus(): void
}

export function listControl(field: ListField, context: ControlContext): Control {
  const { item, minItems, maxItems } = field
  const json = jsonControl({ ...field, description: '', title: `${field.title} as JSON` }, context)
  const asJson = element('div', { class: 'as-json', hidden: true }, json.element)
  const toggle = button('Edit as JSON', toggleJson, { look: 'text' })
  const parts = element('div', { class: 'parts' })
  const frame = createFrame(field, () => [parts, asJson], { grouped: true, aside: toggle })
  const list = createItemList(item.kind, changed, () => adder.focus())
  const adder = item.kind === 'media' ? createFileAdder(item) : createAdder(field, addPart)
  parts.append(list.element, adder.element)

  function createFileAdder(media: MediaField): Adder {
    return createMediaPicker({
      field: { ...media, title: field.title },
      inputId: frame.inputId,
      describedBy: frame.describedBy,
      many: true,
      onFiles: takeFiles,
      onReference: (reference) => {
        appendFile(media, reference)
        changed()
      },
      onTrouble: frame.showRefusedFiles,
    })
  }
  function appendFile(media: MediaField, source: File | string): void {
    const control = mediaHolder(media, context, () => list.take(control))
    control.put(source)
    list.append(control, { ownRemove: true })
  }
  function takeFiles(files: readonly File[]): boolean {
    if (item.kind !== 'media' || !asJson.hidden) return false
    const room = { most: maxItems, used: list.controls.length }
    const { taken, words } = chooseFiles(files, item, context.largestUpload, room)
    for (const file of taken) appendFile(item, file)
    changed()
    frame.showRefusedFiles(words)
    return true
  }
  function appendPart(value: Json | undefined): Control {
    const control = context.make({ ...item, title: item.title || field.title }, context)
    control.write(value)
    list.append(control)
    return control
  }
  function addPart(value: Json | undefined): void {
    const control = appendPart(value)
    changed()
    control.focus()
  }
  function changed(): void {
    settle()
    frame.showError(null)
    context.onChange()
  }
  function settle(): void {
    adder.element.hidden = list.controls.length >= maxItems
  }
  function readParts(): Json | undefined {
    const values = list.controls.map((control) => control.read() ?? null)
    return values.length === 0 && !field.required && field.fallback === undefined ? undefined : values
  }
  function writeParts(value: Json | undefined): void {
    list.clear()
    for (const one of Array.isArray(value) ? value : []) {
      if (item.kind !== 'media') appendPart(one)
      else if (typeof one === 'string') appendFile(item, one)
    }
    settle()
  }
  function toggleJson(): void {
    const toJson = asJson.hidden
    if (toJson) json.write(readParts() ?? [])
    else if (canShow(item, json.read())) writeParts(json.read())
    else return json.showError('The form cannot show this value. Correct it, or go on editing it as JSON.')
    asJson.hidden = !toJson
    parts.hidden = toJson
    toggle.textContent = toJson ? 'Edit as form' : 'Edit as JSON'
    context.onChange()
  }

  return {
    field,
    element: frame.element,
    read: () => (asJson.hidden ? readParts() : json.read()),
    write(value) {
      if (canShow(item, value)) writeParts(value)
      json.write(value)
    },
    missingWords: () => (minItems > 1 ? `At least ${minItems} are required.` : null),
    showError(words) {
      frame.showError(words)
      if (words === null) for (const control of list.controls) control.showError(null)
    },
    takeFiles,
    focus: () => (item.kind === 'media' ? adder : (list.controls[0] ?? adder)).focus(),
    child: (index) => (asJson.hidden ? list.controls[Number(index)] : undefined),
  }
}

/** The controls that add an item: one button, or one per kind of item. */
function createAdder({ item, title }: ListField, add: (value: Json | undefined) => void): Adder {
  if (item.kind !== 'pick') {
    const label = `Add ${item.title ? item.title.toLowerCase() : 'another'}`
    const more = button(label, () => add(startingValue(item)), { icon: 'plus', look: 'quiet' })
    return { element: more, focus: () => more.focus() }
  }
  const choices = item.options.map((option) => {
    const choose = (): void => add({ [option.name]: startingValue(option) ?? null })
    return element('button', { type: 'button', class: 'chip', onclick: choose }, icon('plus'), option.title)
  })
  return {
    element: element(
      'div',
      { class: 'chips adder', role: 'group', 'aria-label': `Add to ${title.toLowerCase()}` },
      ...choices,
    ),
    focus: () => choices[0]?.focus(),
  }
}

/** Whether items can show this list without loss. */
function canShow(item: Field, value: Json | undefined): boolean {
  if (value === undefined) return true
  if (!Array.isArray(value)) return false
  if (item.kind === 'media') return value.every((one) => one === null || typeof one === 'string')
  if (item.kind !== 'pick') return true
  return value.every(
    (one) => isObject(one) && Object.keys(one).length === 1 && item.options.some(({ name }) => name in one),
  )
}
