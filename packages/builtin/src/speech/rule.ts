// Rules that rewrite a text, one after another.

/** What to look for, and what to put in its place. */
export type Rule = readonly [RegExp, string | ((...match: string[]) => string)]

/** Applies rules in their order, each everywhere. */
export function applyRules(text: string, rules: readonly Rule[]): string {
  return rules.reduce(
    (changed, [pattern, replacement]) =>
      typeof replacement === 'string' ? changed.replace(pattern, replacement) : changed.replace(pattern, replacement),
    text,
  )
}
