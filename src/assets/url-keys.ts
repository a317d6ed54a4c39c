// The keys that sign URLs of files, which another process may rotate at any time.
import type { SigningKey, Store } from '../core/store.ts'

/** How long a rotation may go unnoticed. */
const refreshMs = 1000

/** The keys as they were a moment ago. */
export interface UrlKeys {
  /** The newest last; never empty. */
  list(): readonly SigningKey[]
  stop(): void
}

/** Reads the keys now, and again and again. The first one is made here, so that no request meets a database that takes none. */
export async function startUrlKeys(store: Pick<Store, 'signingKeys'>): Promise<UrlKeys> {
  let keys = await store.signingKeys('asset')
  const timer = setInterval(() => {
    // If the database cannot be read, the next read tells.
    store.signingKeys('asset').then(
      (read) => (keys = read),
      () => {},
    )
  }, refreshMs)
  return { list: () => keys, stop: () => clearInterval(timer) }
}
