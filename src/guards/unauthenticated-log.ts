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
  let logged = 0
  let unlogged = new Map<string, number>()
  let window: NodeJS.Timeout | undefined

  function close(): void {
    window = undefined
    logged = 0
    if (unlogged.size === 0) return
    const codes = Object.fromEntries(unlogged)
    const refused = [...unlogged.values()].reduce((sum, count) => sum + count, 0)
    unlogged = new Map()
    log.info({ refused, codes }, 'more refusals of callers without a valid key')
  }

  return (line, message) => {
    window ??= setTimeout(close, windowMs).unref()
    if (logged < linesPerSecond) {
      logged += 1
      log.info(line, message)
    } else unlogged.set(line.code, (unlogged.get(line.code) ?? 0) + 1)
  }
}
