// Ctrl-C while a job is made: the first asks to cancel it, the second stops the wait.

// A terminal sends Ctrl-C to npm or an older Node in front and to this process, and those forward theirs: two signals for one wish.
const sameWishMs = 1000

/** The wishes of who presses Ctrl-C, until this is disposed of. */
export interface Interrupts extends Disposable {
  /** Whether Ctrl-C was pressed. */
  requested(): boolean
  /** Calls `listener` once: when Ctrl-C is pressed, or soon if it was pressed before. */
  onFirst(listener: () => void): void
  /** Aborted when Ctrl-C is pressed again. */
  readonly again: AbortSignal
}

/** Listens from now on. */
export function watchInterrupts(): Interrupts {
  const again = new AbortController()
  const first = Promise.withResolvers<void>()
  let firstAt: number | null = null
  const interrupt = (): void => {
    const now = performance.now()
    if (firstAt !== null && now - firstAt > sameWishMs) again.abort()
    firstAt ??= now
    first.resolve()
  }
  process.on('SIGINT', interrupt)
  return {
    requested: () => firstAt !== null,
    onFirst: (listener) => void first.promise.then(listener),
    again: again.signal,
    [Symbol.dispose]: () => void process.off('SIGINT', interrupt),
  }
}
