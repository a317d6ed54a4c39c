// Sanitizes messages of other servers. They may be long, and a customer may choose them, because providers repeat prompts: so
// each step takes linear time on bounded text.
const mostSaidChars = 500
// The rest of a longer text is ignored.
const mostReadChars = 128 * 1024
// The longest spelling of a key: no server takes longer headers, and escaping makes three characters of one.
const mostKeyChars = 48 * 1024
// Control characters, and those that order or break lines.
// oxlint-disable-next-line no-control-regex -- they are what is removed
const unshown = /[\u0000-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]+/g
const unspaced = /[^\s"'<>]+/g

/** Creates a function that hides keys and queries of URLs in messages, and shortens them. */
export function createQuote(hide: (text: string) => string): (words: unknown) => string {
  return (words) => {
    const text = typeof words === 'string' ? words : (JSON.stringify(words) ?? '')
    const shown = hideKeys(text, hide).replaceAll(unspaced, dropQuery).replaceAll(unshown, ' ').trim()
    return shown.length > mostSaidChars ? `${shown.slice(0, mostSaidChars).toWellFormed()}…` : shown
  }
}

/** Hides keys in the beginning of a text; what may be a part of a key at its end is left out. */
function hideKeys(text: string, hide: (text: string) => string): string {
  if (text.length <= mostReadChars) return hide(text)
  return hide(text.slice(0, mostReadChars)).slice(0, -mostKeyChars)
}

/** A text without white space, up to the query of the URL in it. */
function dropQuery(text: string): string {
  const at = text.search(/https?:\/\/[^?]/)
  const query = at === -1 ? -1 : text.indexOf('?', at)
  return query === -1 ? text : text.slice(0, query)
}
