// Characters that show nothing themselves and change what is shown: control characters, ends of lines, and the signs that turn the
// direction of text. In a terminal they could forge lines or run commands.

// Control characters are C0, DEL and C1.
const hidden = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu
const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Whether a text has such characters. */
export function hasHidden(text: string): boolean {
  return text.search(hidden) >= 0
}

/** The text on one line, with such characters written as JSON would write them. */
export function escapeHidden(text: string): string {
  return text.replace(
    hidden,
    (character) => short[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
