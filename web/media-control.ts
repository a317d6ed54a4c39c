// A field for a file, alone or as a part of a list: the file in its slot, or where it comes from.
import { type Control, type ControlContext, createFrame } from './control.ts'
import { element } from './element.ts'
import type { MediaField } from './form-model.ts'
import { chooseFiles } from './media-file.ts'
import { createMediaPicker } from './media-picker.ts'
import { createMediaSlot, type MediaSlot } from './media-slot.ts'

/** A control that holds one file; it is empty until one is put in. */
export interface MediaHolder extends Control {
  /** Undefined empties it. */
  put(source: File | string | undefined): void
}

/** The file alone, without anything to choose another: a part of a list. `removed` is told when the person takes it away. */
export function mediaHolder(field: MediaField, context: ControlContext, removed: () => void): MediaHolder {
  const error = element('p', { class: 'field-error' })
  const whole = element('div', { class: 'holder' }, error)
  let slot: MediaSlot | null = null

  function arrived(): void {
    error.replaceChildren()
    context.onChange()
  }
  function put(source: File | string | undefined): void {
    slot?.drop()
    slot?.element.remove()
    slot = source === undefined ? null : createMediaSlot(source, { ...context, onChange: arrived }, removed)
    if (slot) whole.prepend(slot.element)
  }
  return {
    field,
    element: whole,
    put,
    read: () => slot?.reference,
    write: (value) => {
      if (value === undefined || value !== slot?.reference) put(typeof value === 'string' ? value : undefined)
    },
    missingWords: () => slot?.trouble ?? null,
    showError: (words) => error.replaceChildren(words ?? ''),
    focus: () => whole.querySelector<HTMLElement>('.slot > .button')?.focus(),
    child: () => undefined,
  }
}

export function mediaControl(field: MediaField, context: ControlContext): Control {
  const place = element('div', {})
  const frame = createFrame(field, () => [place])
  const holder = mediaHolder(field, context, () => {
    fill(undefined)
    picker.focus()
  })
  const picker = createMediaPicker({
    field,
    inputId: frame.inputId,
    describedBy: frame.describedBy,
    many: false,
    onFiles: takeFiles,
    onReference: fill,
    onTrouble: frame.showError,
  })
  place.append(picker.element, holder.element)

  function fill(source: File | string | undefined): void {
    const focused = picker.element.contains(document.activeElement)
    holder.put(source)
    picker.element.hidden = source !== undefined
    // What had the focus is gone.
    if (focused && source !== undefined) holder.focus()
    // A file on its way leaves the field empty until it has arrived.
    context.onChange()
  }
  function takeFiles(files: readonly File[]): boolean {
    const { taken, words } = chooseFiles(files, field, context.largestUpload, { most: 1, used: 0 })
    if (taken[0]) fill(taken[0])
    frame.showError(words)
    return true
  }
  return {
    ...holder,
    element: frame.element,
    write(value) {
      holder.write(value)
      picker.element.hidden = typeof value === 'string'
    },
    showError: frame.showError,
    focus: () => (picker.element.hidden ? holder.focus() : picker.focus()),
    takeFiles,
  }
}
