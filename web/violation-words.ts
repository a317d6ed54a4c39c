// Turns the server's violations into sentences for the form.

// The rules of JSON Schema in the server's words.
const rules: readonly (readonly [RegExp, (found: string) => string])[] = [
  [/^must be at most (.+)$/, (most) => `At most ${format(most)}.`],
  [/^must be at least (.+)$/, (least) => `At least ${format(least)}.`],
  [/^must be less than (.+)$/, (bound) => `Less than ${format(bound)}.`],
  [/^must be more than (.+)$/, (bound) => `More than ${format(bound)}.`],
  [/^must be a multiple of (.+)$/, (step) => `Must be a multiple of ${format(step)}.`],
  [/^must be one of (.+)$/, (choices) => `Choose one of ${choices.replaceAll('"', '')}.`],
  [/^must match (?:pattern|format) /, () => 'This is not in the right format.'],
  [/^must NOT have duplicate items/, () => 'The same item appears twice.'],
  [
    /^must (?:match (?:a|exactly one) schema|match "\w+" schema|NOT be valid)/,
    () => 'This combination is not possible.',
  ],
  [/^is required$/, () => 'This field is required.'],
  [/^is not a known field(.*)$/, (similar) => `This model does not have this field${similar}.`],
  [/^must have at most (\d+) items?$/, (most) => `At most ${format(most)} are allowed.`],
  [
    /^must have at least (\d+) items?$/,
    (least) => `At least ${format(least)} ${least === '1' ? 'is' : 'are'} required.`,
  ],
  [/^must have at most (\d+) characters?$/, (most) => `At most ${format(most)} characters.`],
  [/^must have at least (\d+) characters?$/, (least) => `At least ${format(least)} characters.`],
  [/^must not be empty$/, () => 'This field is required.'],
]

/** A sentence for a violation's `detail`. */
export function describeViolation(detail: string): string {
  for (const [pattern, toWords] of rules) {
    const match = pattern.exec(detail)
    if (match) return toWords(match[1] ?? '')
  }
  return `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`
}

function format(number: string): string {
  return Number.isFinite(Number(number)) ? Number(number).toLocaleString('en-US') : number
}
