// A model's form on the page: the control for each field, its value as input, the server's violations at their fields.
import { choiceControl, constantControl, switchControl } from './choice-control.ts'
import type { Control, ControlContext } from './control.ts'
import type { Field, ObjectField } from './form-model.ts'
import { findMissing, locate } from './form-value.ts'
import { objectControl, pickControl } from './group-control.ts'
import { listControl } from './list-control.ts'
import { mediaControl } from './media-control.ts'
import { numberControl } from './number-control.ts'
import type { JsonObject } from './records.ts'
import type { Upload } from './upload.ts'
import { colorControl, jsonControl, textControl } from './text-control.ts'

export interface Form {
  readonly element: HTMLElement
  read(): JsonObject
  write(input: JsonObject): void
  /** Whether something that the model needs is not there yet. */
  isIncomplete(): boolean
  /** Says at each field what is missing there, and goes to the first; whether anything is. */
  complain(): boolean
  /** Shows violations at their fields; goes to none, for the person is typing. */
  showViolations(violations: readonly { readonly pointer: string; readonly detail: string }[]): void
  /** Puts a file into the first field that takes one. */
  placeMedia(uri: string): void
}

export interface FormOptions {
  readonly onChange: () => void
  readonly largestMedia: number
  readonly upload: Upload
}

export function createForm(field: ObjectField, { onChange, largestMedia, upload }: FormOptions): Form {
  const context: ControlContext = { onChange, largestMedia, upload, make: createControl }
  const root = objectControl(field, context, { bare: true })

  // A file that is pasted anywhere in the form goes to the first field for files.
  root.element.addEventListener('paste', (event) => {
    const [file] = event.clipboardData?.files ?? []
    const zone = root.element.querySelector('.drop')
    if (!file || !zone || zone.contains(event.target as Node)) return
    event.preventDefault()
    zone.dispatchEvent(new ClipboardEvent('paste', { clipboardData: event.clipboardData }))
  })
  const read = (): JsonObject => (root.read() ?? {}) as JsonObject
  const missing = (): string[] => findMissing(field, read())
  return {
    element: root.element,
    read,
    write: (input) => root.write(input),
    isIncomplete: () => missing().length > 0,
    complain() {
      const pointers = missing()
      root.showError(null)
      for (const pointer of pointers)
        locate(root, pointer).showError(pointer === '' ? 'Something is missing.' : 'This is needed.')
      const [first] = pointers
      if (first !== undefined) locate(root, first).focus()
      return first !== undefined
    },
    showViolations(violations) {
      root.showError(null)
      const words = new Map<Control, string[]>()
      for (const { pointer, detail } of violations) {
        const control = locate(root, pointer)
        words.set(control, [...(words.get(control) ?? []), `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`])
      }
      for (const [control, said] of words) control.showError(said.join(' '))
    },
    placeMedia(uri) {
      const media = field.fields.find(({ kind }) => kind === 'media')
      if (media) root.child(media.name)?.write(uri)
    },
  }
}

function createControl(field: Field, context: ControlContext): Control {
  switch (field.kind) {
    case 'text':
      return textControl(field, context)
    case 'color':
      return colorControl(field, context)
    case 'number':
      return numberControl(field, context)
    case 'switch':
      return switchControl(field, context)
    case 'choice':
      return choiceControl(field, context)
    case 'media':
      return mediaControl(field, context)
    case 'constant':
      return constantControl(field)
    case 'object':
      return objectControl(field, context)
    case 'pick':
      return pickControl(field, context)
    case 'list':
      return listControl(field, context)
    case 'json':
      return jsonControl(field, context)
  }
}
