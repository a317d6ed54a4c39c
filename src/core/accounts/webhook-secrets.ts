// The secrets of a webhook endpoint. A replaced one goes on signing for a while, so that receivers can change theirs without losing a message.

/** How long a replaced secret still signs, in milliseconds: a day. */
export const secretOverlapMs = 86_400_000

// A lost answer is repeated, and each repetition replaces a secret.
const mostPrevious = 4

interface PreviousSecret {
  /** Base64. */
  readonly secret: string
  readonly untilMs: number
}

/**
 * The previous secrets once another one is replaced, as the store keeps them.
 * @param kept those so far
 */
export function retireSecret(kept: string | null, replaced: Uint8Array, nowMs: number): string {
  const retired = { secret: Buffer.from(replaced).toString('base64'), untilMs: nowMs + secretOverlapMs }
  return JSON.stringify([retired, ...readValid(kept, nowMs)].slice(0, mostPrevious))
}

/** The previous secrets that still sign, the newest first. */
export function readPreviousSecrets(kept: string | null, nowMs: number): Buffer[] {
  return readValid(kept, nowMs).map(({ secret }) => Buffer.from(secret, 'base64'))
}

function readValid(kept: string | null, nowMs: number): PreviousSecret[] {
  const all = kept === null ? [] : (JSON.parse(kept) as PreviousSecret[])
  // A clock that went back lengthens nothing.
  return all.filter(({ untilMs }) => untilMs > nowMs && untilMs <= nowMs + secretOverlapMs)
}
