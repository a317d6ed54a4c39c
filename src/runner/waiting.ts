// Promises that a signal may end.
import type { StopReason } from './attempt.ts'

/**
 * The engine's result, unless the run ends earlier: a cancel, a deadline and a timeout end the job at once, even if its program
 * does not respond and still runs. A run that is given back waits for its engine, so no two runs overlap.
 */
export async function untilDecided<Result>(running: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: decided, reject } = Promise.withResolvers<never>()
  const decide = (): void => {
    const reason = signal.reason as StopReason
    if (reason !== 'stopping' && reason !== 'lost') reject(new Error(reason))
  }
  signal.addEventListener('abort', decide)
  try {
    const result = await Promise.race([running, decided])
    signal.throwIfAborted()
    return result
  } finally {
    signal.removeEventListener('abort', decide)
  }
}

/** What `awaited` resolves to, unless `signal` aborts first. */
export async function unlessAborted<Result>(awaited: Promise<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const end = (): void => reject(new Error(String(signal.reason)))
  signal.addEventListener('abort', end)
  try {
    return await Promise.race([awaited, aborted])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
