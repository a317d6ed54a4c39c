// Ctrl-C while a job is made: the first asks to cancel it, the second stops the wait.

// A terminal sends Ctrl-C to npm or an older Node in front and to this process, and those forward theirs: two signals for one wish.
const sameWishMs = 1000

/** The wishes of who presses Ctrl-C, until this is disposed of. */
export interface Interrupts extends Disposable {
  /** Whether it was pressed. */
  asked(): boolean
  /** Told once, when it is pressed or if it was. */
  onFirst(listener: () => void): void
  /** Aborted when it is pressed again. */
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
    asked: () => firstAt !== null,
    onFirst: (listener) => void first.promise.then(listener),
    again: again.signal,
    [Symbol.dispose]: () => void process.off('SIGINT', interrupt),
  }
}
