// What is kept up to date while the page is seen: read again when jobs change, after a pause, when the page is shown again, or on
// demand.
import { isAborted, isMissing } from './client.ts'
import { onJobs } from './job-events.ts'

const usualPauseMs = 5000

/** Reading again and again. */
export interface Live {
  /** Reads at once; resolves when what was read is shown, or has failed. */
  refresh(): Promise<void>
}

/**
 * Begins to read.
 * @param read reads and shows; must leave the page as it is if it fails
 * @param onFailure told a failure, and null when reading works again
 * @param signal ends it
 * @param pauseMs how long what was read is current
 */
export function keepLive(
  read: (signal: AbortSignal) => Promise<void>,
  onFailure: (error: unknown) => void,
  signal: AbortSignal,
  pauseMs = usualPauseMs,
): Live {
  let timer: ReturnType<typeof setTimeout> | undefined
  let turn = 0

  async function refresh(): Promise<void> {
    const own = ++turn
    clearTimeout(timer)
    try {
      await read(signal)
      if (!signal.aborted) onFailure(null)
    } catch (error) {
      if (!signal.aborted && !isAborted(error)) onFailure(error)
      // It will not come back.
      if (isMissing(error)) return
    }
    // A later call goes on by itself.
    if (own === turn && !signal.aborted) timer = setTimeout(() => void again(), pauseMs)
  }
  /** A dialog may be about what is shown; a hidden page is read when it is shown. */
  function mayRead(): boolean {
    return document.visibilityState !== 'hidden' && !document.querySelector('dialog[open]')
  }
  function again(): Promise<void> | undefined {
    if (mayRead()) return refresh()
    timer = setTimeout(() => void again(), pauseMs)
    return undefined
  }
  document.addEventListener(
    'visibilitychange',
    () => {
      if (document.visibilityState === 'visible') void refresh()
    },
    { signal },
  )
  // What is read more rarely is dear to read.
  if (pauseMs === usualPauseMs) onJobs(() => mayRead() && void refresh(), signal)
  signal.addEventListener('abort', () => clearTimeout(timer))
  void refresh()
  return { refresh }
}
