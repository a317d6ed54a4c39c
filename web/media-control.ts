// A field for a file, alone or as a list item: a slot with the file, or a picker.
import { type Control, type ControlContext, createFrame } from './control.ts'
import { element } from './element.ts'
import type { MediaField } from './form-model.ts'
import { chooseFiles } from './media-file.ts'
import { createMediaPicker } from './media-picker.ts'
import { createMediaSlot, type MediaSlot } from './media-slot.ts'

/** A control for one file, initially empty. */
export interface MediaHolder extends Control {
  /** Undefined clears it. */
  put(source: File | string | undefined): void
}

/** The file without a picker, as a list item. `removed` is called when the user removes it. */
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
    // Null for a file that has no reference yet.
    read: () => (slot ? (slot.reference ?? null) : undefined),
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
    onTrouble: frame.showRefusedFiles,
  })
  place.append(picker.element, holder.element)

  function fill(source: File | string | undefined): void {
    const focused = picker.element.contains(document.activeElement)
    holder.put(source)
    picker.element.hidden = source !== undefined
    // The focused element was removed.
    if (focused && source !== undefined) holder.focus()
    // The field is empty until the upload has finished.
    context.onChange()
  }
  function takeFiles(files: readonly File[]): boolean {
    const { taken, words } = chooseFiles(files, field, context.largestUpload, { most: 1, used: 0 })
    if (taken[0]) fill(taken[0])
    frame.showRefusedFiles(words)
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
