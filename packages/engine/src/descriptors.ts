// Waiting for file descriptors, where what was done so far would be lost otherwise.
import { setTimeout as pause } from 'node:timers/promises'

const firstPauseMs = 200
const longestPauseMs = 5000

/**
 * Takes a step again and again as long as it fails only because this process, or the system, has no file descriptor left.
 * @param step may be taken again when it fails so
 * @param mayRepeat tells of such a failure whether the step may be taken again. Default: it may
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

/** Whether `thrown`, or what caused it, says that this process or the system has no file descriptor left. */
export function lacksDescriptors(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause)
    if (/^E[MN]FILE$/.test(String('code' in error ? error.code : ''))) return true
  return false
}
