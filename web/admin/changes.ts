// What an administrative act changed: its states before and after, field by field.
import type { JsonObject } from '@bufbuild/protobuf'

/** A field that an act changed. */
export interface Change {
  /** As `limits.daily`. */
  readonly field: string
  /** Undefined where there was nothing. */
  readonly before: string | undefined
  readonly after: string | undefined
}

/** The fields that differ; all of a state when there was none before. */
export function findChanges(before: JsonObject | undefined, after: JsonObject | undefined): Change[] {
  const [was, is] = [flatten(before), flatten(after)]
  return [...new Set([...was.keys(), ...is.keys()])]
    .map((field) => ({ field, before: was.get(field), after: is.get(field) }))
    .filter((change) => change.before !== change.after)
}

/** A change in words. */
export function describeChange({ field, before, after }: Change): string {
  if (before === undefined) return `${field}: ${after}`
  return `${field}: ${before} → ${after ?? 'none'}`
}

function flatten(state: JsonObject | undefined): Map<string, string> {
  const fields = new Map<string, string>()
  const visit = (value: JsonObject[string] | undefined, path: string): void => {
    // A list is read as a whole.
    if (Array.isArray(value)) fields.set(path, value.length === 0 ? 'none' : value.map(toText).join(', '))
    else if (value !== null && typeof value === 'object')
      for (const [name, inner] of Object.entries(value)) visit(inner, path === '' ? name : `${path}.${name}`)
    else if (value !== null && value !== undefined) fields.set(path, toText(value))
  }
  visit(state, '')
  return fields
}

function toText(value: JsonObject[string]): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
