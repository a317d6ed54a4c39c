// Labels of a start: names and values of its client's own, such as a team or a campaign. They change nothing about the job.
import { hasHidden } from '../text/hidden-characters.ts'

/** Values by name; empty for none. */
export type Labels = Readonly<Record<string, string>>

/** One of them. */
export interface Label {
  readonly name: string
  readonly value: string
}

/** How many labels a start may have. */
export const mostLabels = 16
const longestValue = 256

// `__proto__` would not become a property of the objects that decoders build.
const namePattern = /^(?!__proto__$)[\w.-]{1,64}$/

/** What is wrong with a label, in words; null if nothing is. */
export function findLabelFault(name: string, value: string): string | null {
  if (!namePattern.test(name)) return 'must have a name of 1 to 64 letters, digits, "_", "." and "-"'
  if (value === '' || value.length > 2 * longestValue || [...value].length > longestValue)
    return `must have a value of 1 to ${longestValue} characters`
  return hasHidden(value) || !value.isWellFormed()
    ? 'must be one line, without control characters and signs that turn the direction of text'
    : null
}

/** Labels as they are stored; null for none. */
export function toLabelsText(labels: Labels): string | null {
  return Object.keys(labels).length === 0 ? null : JSON.stringify(labels)
}

/** Labels as they were stored. */
export function parseLabels(text: string | null): Labels {
  return text === null ? {} : (JSON.parse(text) as Labels)
}
