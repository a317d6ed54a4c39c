// The slowest allowed client: a number of bytes, or the end, in each window. The same for bodies and streams.
import { MediagenError } from '../core/errors.ts'

/** Bytes that must arrive in each window. */
export const leastProgressBytes = 65_536

/**
 * Passes on the chunks of a stream. Only the time spent waiting for the client counts, not the time spent on a chunk.
 * @throws MediagenError `request_timeout` when `windowMs` were spent waiting and fewer than `leastProgressBytes` arrived
 */
export async function* boundWaiting<Piece>(
  pieces: AsyncIterable<Piece>,
  windowMs: number,
  measure: (piece: Piece) => number,
): AsyncIterable<Piece> {
  const source = pieces[Symbol.asyncIterator]()
  let leftMs = windowMs
  let bytes = 0
  try {
    while (true) {
      const waitBeganMs = performance.now()
      const { value, done } = await within(source.next(), leftMs, () => tooSlow(windowMs))
      if (done) return
      leftMs -= performance.now() - waitBeganMs
      bytes += measure(value)
      if (bytes >= leastProgressBytes) {
        bytes = 0
        leftMs = windowMs
      }
      yield value
    }
  } finally {
    // Not awaited: a source that waits for the client would only return when the client sends.
    source.return?.().catch(() => {})
  }
}

/** The refusal of a client that sends too slowly. */
export function tooSlow(windowMs: number): MediagenError {
  return new MediagenError(
    'request_timeout',
    `The request stalled: fewer than ${leastProgressBytes} bytes of it, and not its end, arrived within ${windowMs / 1000} seconds. Nothing was stored.`,
  )
}

async function within<Value>(promise: Promise<Value>, ms: number, late: () => Error): Promise<Value> {
  const over = Promise.withResolvers<never>()
  const timer = setTimeout(() => over.reject(late()), Math.max(0, ms))
  try {
    return await Promise.race([promise, over.promise])
  } finally {
    clearTimeout(timer)
  }
}
