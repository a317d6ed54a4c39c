// Retry-After of an answer (RFC 9110, 10.2.3).

/** The headers that say how long to wait. */
type WaitHeaders = { readonly 'retry-after'?: unknown; readonly date?: unknown }

/** How long an answer asks to wait, in milliseconds: seconds, or a date by the sender's own clock where it says; null if it does not. */
export function readRetryAfter(headers: WaitHeaders): number | null {
  const written = String(headers['retry-after'] ?? '').trim()
  if (/^\d{1,10}$/.test(written)) return Number(written) * 1000
  // Date.parse takes much that is no date.
  if (!/^[A-Z][a-z]{2,8},? /.test(written)) return null
  const sentAtMs = Date.parse(String(headers.date ?? ''))
  const waitMs = Date.parse(written) - (Number.isNaN(sentAtMs) ? Date.now() : sentAtMs)
  return Number.isNaN(waitMs) ? null : Math.max(0, waitMs)
}
