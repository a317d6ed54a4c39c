// Turns the server's violations into sentences for the form.

const rules: readonly (readonly [RegExp, (found: string) => string])[] = [
  [/^must be <= (.+)$/, (most) => `At most ${format(most)}.`],
  [/^must be >= (.+)$/, (least) => `At least ${format(least)}.`],
  [/^must be < (.+)$/, (bound) => `Less than ${format(bound)}.`],
  [/^must be > (.+)$/, (bound) => `More than ${format(bound)}.`],
  [/^must be multiple of (.+)$/, (step) => `A multiple of ${format(step)}.`],
  [/^must be integer$/, () => 'A whole number.'],
  [/^must NOT have more than (\d+) items$/, (most) => `At most ${format(most)} are allowed.`],
  [
    /^must NOT have fewer than (\d+) items$/,
    (least) => `At least ${format(least)} ${least === '1' ? 'is' : 'are'} required.`,
  ],
  [/^must NOT have more than (\d+) characters$/, (most) => `At most ${format(most)} characters.`],
  [
    /^must NOT have fewer than (\d+) characters$/,
    (least) => (least === '1' ? 'This field is required.' : `At least ${format(least)} characters.`),
  ],
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
