// Makes clients' texts safe for a log: short, and without keys.

// Longer ids, paths and messages come from a client and are of no use.
const longestText = 256
const secrets = /(mgk|mgs|whsec)(_|%5f)[\w+/=-]+/gi
// The last part of an address that a provider was given.
const submissionTokens = /(\/submissions(?:\/[^/\s"]+){3}\/)[\w-]+/g

/** A text of at most 256 characters; a longer one is cut, with the number of characters left out. */
export function cutText(text: string): string {
  return text.length <= longestText
    ? text
    : `${text.slice(0, longestText)}… (${text.length - longestText} more characters)`
}

/**
 * Replaces API keys, sessions and webhook secrets by `mgk_[redacted]`, `mgs_[redacted]` and `whsec_[redacted]`, and hides the tokens
 * of addresses for providers.
 */
export function redactSecrets(text: string): string {
  const shown = /mg[ks]|whsec/i.test(text) ? text.replace(secrets, '$1_[redacted]') : text
  return shown.includes('/submissions/') ? shown.replace(submissionTokens, '$1[redacted]') : shown
}
