// Time as a parameter, so a test can control it.

export interface Clock {
  /** Milliseconds since 1970, UTC. */
  nowMs(): number
}

/** The machine's own clock. */
export const systemClock: Clock = { nowMs: () => Date.now() }

// Most timestamps fall into the same few seconds, so the text of the current second is cached.
const secondTexts = new Map<number, string>()
const mostSeconds = 100

/** An instant as REST writes it: RFC 3339, UTC, milliseconds, `Z`. */
export function toTimestampText(ms: number): string {
  const second = Math.floor(ms / 1000)
  let text = secondTexts.get(second)
  if (text === undefined) {
    text = new Date(second * 1000).toISOString().slice(0, -'000Z'.length)
    if (secondTexts.size >= mostSeconds) secondTexts.clear()
    secondTexts.set(second, text)
  }
  return `${text}${String(ms - second * 1000).padStart(3, '0')}Z`
}
