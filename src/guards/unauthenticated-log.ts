// Log of refusals of callers without a valid key: a number of lines per second, then only a count of the rest.
// Metrics count all of them.

const windowMs = 1000

/** The part of a logger that is used. */
export interface LineLog {
  info(line: object, message: string): void
}

/** Logs one refusal, or only counts it. All doors of a process share one log. */
export type UnauthenticatedLog = (
  line: { readonly code: string; readonly [name: string]: unknown },
  message: string,
) => void

/**
 * Creates the log.
 * @param linesPerSecond lines logged in full each second; the rest is summed up in one line at its end, by error code
 */
export function createUnauthenticatedLog(log: LineLog, linesPerSecond: number): UnauthenticatedLog {
  let told = 0
  let untold = new Map<string, number>()
  let window: NodeJS.Timeout | undefined

  function close(): void {
    window = undefined
    told = 0
    if (untold.size === 0) return
    const codes = Object.fromEntries(untold)
    const refused = [...untold.values()].reduce((sum, count) => sum + count, 0)
    untold = new Map()
    log.info({ refused, codes }, 'more refusals of callers without a valid key')
  }

  return (line, message) => {
    window ??= setTimeout(close, windowMs).unref()
    if (told < linesPerSecond) {
      told += 1
      log.info(line, message)
    } else untold.set(line.code, (untold.get(line.code) ?? 0) + 1)
  }
}
