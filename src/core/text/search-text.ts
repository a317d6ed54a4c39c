// How texts are searched: the same in every store, and in the catalog.
import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'

/** The longest text that may be searched for, in characters. */
export const longestSearch = 200

/**
 * A text in which upper and lower case are the same, and so are the ways to write an accent; `ß` is the same as `ss`, and the two
 * forms of a Greek sigma are one.
 */
export function foldText(text: string): string {
  // Upper case first: it undoes what lower case leaves apart. The form of a sigma depends on its position in a word, which a search does not know.
  return text.normalize('NFC').toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}

/** Whether a text somewhere in the values of an input contains `folded`, which was folded. */
export function hasText(input: JsonObject, folded: string): boolean {
  return Object.values(input).some((value) => contains(value, folded))
}

function contains(value: JsonValue, folded: string): boolean {
  if (typeof value === 'string') return foldText(value).includes(folded)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((one) => contains(one, folded))
}
