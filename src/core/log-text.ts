// Texts of clients as they may stand in a log: short, and without keys.

// Longer ids, paths and messages are a client's doing and help nobody.
const longestText = 256
const secrets = /(mgk|whsec)(_|%5f)[\w+/=-]+/gi

/** A text of at most 256 characters; of a longer one the beginning, and how much was left out. */
export function cutText(text: string): string {
  return text.length <= longestText
    ? text
    : `${text.slice(0, longestText)}… (${text.length - longestText} more characters)`
}

/** Text in which API keys and webhook secrets are replaced by `mgk_[redacted]`, wherever they stand. */
export function redactSecrets(text: string): string {
  return /mgk|whsec/i.test(text) ? text.replace(secrets, '$1_[redacted]') : text
}
