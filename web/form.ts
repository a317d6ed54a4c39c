// A model's form on the page: the control for each field, its value as input, the server's violations at their fields.
import { choiceControl, constantControl, switchControl } from './choice-control.ts'
import type { Control, ControlContext } from './control.ts'
import { type Field, type ObjectField, takesMedia } from './form-model.ts'
import { findMissing, locate } from './form-value.ts'
import { objectControl, pickControl } from './group-control.ts'
import { listControl } from './list-control.ts'
import { mediaControl } from './media-control.ts'
import type { SlotDeps } from './media-slot.ts'
import { numberControl } from './number-control.ts'
import type { JsonObject } from './records.ts'
import { colorControl, jsonControl, textControl } from './text-control.ts'
import { describeViolation } from './violation-words.ts'

export interface Form {
  readonly element: HTMLElement
  read(): JsonObject
  write(input: JsonObject): void
  /** Whether a required value is missing. */
  isIncomplete(): boolean
  /** Shows an error at each missing field and focuses the first; returns whether any is missing. */
  complain(): boolean
  /** Shows violations at their fields. The focus moves to the first one only if asked to: the user may be typing. */
  showViolations(violations: readonly Violation[], options?: { readonly focus: boolean }): void
  /** Puts a file into the first field that accepts one; a list gets it at its end. */
  placeMedia(reference: string): void
  /** Accepts files that were dropped or pasted outside of fields; returns whether a field took them. */
  takeFiles(files: readonly File[]): boolean
}

interface Violation {
  readonly pointer: string
  readonly detail: string
}

export interface FormOptions extends SlotDeps {
  readonly largestUpload: number
}

export function createForm(field: ObjectField, options: FormOptions): Form {
  const context: ControlContext = { ...options, make: createControl }
  const root = objectControl(field, context, { bare: true })
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
      for (const pointer of pointers) {
        const control = locate(root, pointer)
        control.showError(
          pointer === '' ? 'A required value is missing.' : (control.missingWords?.() ?? 'This field is required.'),
        )
      }
      const [first] = pointers
      if (first !== undefined) goTo(locate(root, first))
      return first !== undefined
    },
    showViolations(violations, { focus = false } = { focus: false }) {
      root.showError(null)
      const words = new Map<Control, string[]>()
      for (const { pointer, detail } of violations) {
        const control = locate(root, pointer)
        words.set(control, [...(words.get(control) ?? []), describeViolation(detail)])
      }
      for (const [control, said] of words) {
        unfold(control)
        control.showError(said.join(' '))
      }
      // The topmost of them.
      const [first] = [...words.keys()].toSorted(
        (one, other) => one.element.getBoundingClientRect().top - other.element.getBoundingClientRect().top,
      )
      if (focus && first) goTo(first)
    },
    placeMedia(reference) {
      const place = field.fields.find((part) => takesMedia(part))
      const control = place && root.child(place.name)
      const before = control?.read()
      if (place?.kind === 'list') control?.write([...(Array.isArray(before) ? before : []), reference])
      else control?.write(reference)
    },
    takeFiles(files) {
      const places = field.fields.filter((part) => takesMedia(part)).flatMap(({ name }) => root.child(name) ?? [])
      const place = places.find((control) => control.field.kind === 'list' || control.read() === undefined) ?? places[0]
      return place?.takeFiles?.(files) ?? false
    },
  }
}

/** Opens the fold that a field is in. */
function unfold(control: Control): void {
  control.element.closest('details')?.setAttribute('open', '')
}

function goTo(control: Control): void {
  unfold(control)
  control.focus()
  // The focus alone may leave the words about it below the edge.
  control.element.scrollIntoView({ block: 'center' })
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
