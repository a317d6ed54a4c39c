// The secrets of engines: values of environment variables, which are removed from every message.

/** The message about a missing secret, as a clause. */
export function describeMissing(name: string): string {
  return `a key that it needs is missing: the server has no environment variable ${name}`
}

// Characters that RFC 9110 forbids in the value of a header: line ends, other control characters, and all outside of Latin-1.
const unsendable = /[^\t\u0020-\u007E\u0080-\u00FF]/

/** Reads a key that is sent in a header, without the line end that it may have from a file; or why there is none. */
export function readKey(secrets: Secrets, name: string): { readonly key?: string; readonly reason: string | null } {
  const key = secrets.valueOf(name)?.trim()
  if (!key) return { reason: describeMissing(name) }
  if (!unsendable.test(key)) return { key, reason: null }
  const words = `the environment variable ${name} has a line end or another character that no HTTP header carries`
  return { reason: `a key that it needs cannot be sent: ${words}` }
}

/** The secrets that are in use. */
export interface Secrets {
  /** The value of an environment variable; undefined if it is not set. `hide` removes it from texts from now on. */
  valueOf(name: string): string | undefined
  /** A text without the values, whether they appear literally, as URLs and JSON escape them, or within base64. */
  hide(text: string): string
}

// Shorter values occur in ordinary texts, so they are not removed.
const leastChars = 6

/** Creates the secrets of an environment. */
export function createSecrets(environment: Readonly<Record<string, string | undefined>>): Secrets {
  const hidden = new Map<string, string>()
  const known = new Set<string>()
  return {
    valueOf(name) {
      const value = environment[name]
      if (!value) return undefined
      // A trailing line end is not sent with the key, so messages contain the value without it.
      const said = value.trim()
      if (said.length >= leastChars && !known.has(said)) {
        known.add(said)
        for (const spelling of spell(said)) hidden.set(spelling, `[${name}]`)
      }
      return value
    },
    hide(text) {
      for (const [value, name] of hidden) if (text.includes(value)) text = text.replaceAll(value, name)
      return text
    },
  }
}

function spell(value: string): string[] {
  return [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1), ...spellInBase64(value)]
}

/** What base64 makes of a value, wherever in the encoded text it begins: without the characters that its neighbours change. */
function spellInBase64(value: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)])
    const encoded = bytes.toString('base64').replace(/=+$/, '')
    const middle = encoded.slice(before === 0 ? 0 : before + 1, bytes.length % 3 === 0 ? undefined : -1)
    const urlSafe = middle.replaceAll('+', '-').replaceAll('/', '_')
    return middle.length < leastChars ? [] : [middle, urlSafe]
  })
}
