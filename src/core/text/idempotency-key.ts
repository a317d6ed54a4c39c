// Idempotency keys as clients write them. docs/contract.md, section 2.
import { MediagenError } from '../errors.ts'

/** What a key looks like, in words. */
export const legalKey = '1 to 255 visible ASCII characters, without spaces'

/**
 * An idempotency key, without the quotes of an RFC 8941 string.
 * @throws MediagenError `idempotency_key_required` or `idempotency_key_invalid`
 */
export function parseIdempotencyKey(written: string): string {
  if (written === '')
    throw new MediagenError(
      'idempotency_key_required',
      'The Idempotency-Key is missing. Send one unique value, such as a UUID, for each generation that you intend.',
    )
  const key = unquoteIdempotencyKey(written)
  if (key === null) throw new MediagenError('idempotency_key_invalid', `The Idempotency-Key must be ${legalKey}.`)
  return key
}

/** Null if the text is not an idempotency key. */
export function unquoteIdempotencyKey(written: string): string | null {
  const key = /^".*"$/.test(written) ? written.slice(1, -1).replaceAll(/\\(["\\])/g, '$1') : written
  return /^[!-~]{1,255}$/.test(key) ? key : null
}
