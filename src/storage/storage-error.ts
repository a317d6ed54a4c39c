// The error of a command that failed for a technical reason.

/** A full disk, a locked file, a lost connection, a broken rule: the command changed nothing. */
export class StorageError extends Error {
  /** The code of the database, such as `SQLITE_FULL` or `53100`; null for anything else. */
  readonly code: string | null

  constructor(message: string, code: string | null, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StorageError'
    this.code = code
  }
}

/** The answer, or an error when it does not come in time. @throws StorageError */
export async function within(ms: number, answer: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new StorageError(`nothing was written for ${ms} ms`, null)), ms)
  try {
    await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
