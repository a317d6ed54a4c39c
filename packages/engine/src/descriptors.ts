// Retries steps that fail for lack of file descriptors, so that earlier work is not lost.
import { setTimeout as pause } from 'node:timers/promises'

const firstPauseMs = 200
const longestPauseMs = 5000

/**
 * Repeats a step as long as it fails only because this process, or the system, has no file descriptor left.
 * @param step the step, which can be repeated after such a failure
 * @param mayRepeat whether the step may be repeated after this failure. Default: always
 * @throws whatever else the step throws, and when `signal` aborts
 */
export async function whenDescriptors<Result>(
  step: () => Promise<Result>,
  signal?: AbortSignal,
  mayRepeat: (thrown: unknown) => boolean = () => true,
): Promise<Result> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await step()
    } catch (error) {
      if (!lacksDescriptors(error) || !mayRepeat(error)) throw error
      await pause(pauseMs, undefined, signal && { signal })
    }
  }
}

/** Whether `thrown` or its cause means that this process or the system has no file descriptor left. */
export function lacksDescriptors(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause)
    if (/^E[MN]FILE$/.test(String('code' in error ? error.code : ''))) return true
  return false
}
