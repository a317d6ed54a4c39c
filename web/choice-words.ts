// What a schema says of the options of a choice: titles, explanations and sounds. No DOM.
import type { Json, JsonObject } from './records.ts'

/** What there is to say of an option. */
export interface OptionWords {
  readonly title: string
  /** Empty for none. */
  readonly details: string
  /** URL of a sound that shows what it is like; null for none. */
  readonly sound: string | null
}

/** The words of options, by `x-enum-titles` and the like, or by the constants of a `oneOf`. */
export function readOptionWords(schema: JsonObject, options: readonly (string | number)[]): readonly OptionWords[] {
  const constants = Array.isArray(schema['oneOf']) ? schema['oneOf'].filter(isObject) : []
  return options.map((option) => {
    const constant = constants.find((one) => one['const'] === option) ?? {}
    const said = (keyword: string): string | null => {
      const by = schema[keyword]
      return toText(isObject(by) ? by[String(option)] : undefined)
    }
    return {
      title: said('x-enum-titles') ?? toText(constant['title']) ?? String(option),
      details: said('x-enum-descriptions') ?? toText(constant['description']) ?? '',
      sound: said('x-enum-samples'),
    }
  })
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function toText(value: Json | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
