// The keys that sign URLs of files, which another process may rotate at any time.
import type { SigningKey, Store } from '@mediagen/core/store.ts'
import { everySecond } from '../runtime/every-second.ts'

/** A recent copy of the keys. */
export interface UrlKeys {
  /** The newest last; never empty. */
  list(): readonly SigningKey[]
  stop(): void
}

/** Reads the keys now and then repeatedly. Creates the first key at once, so a request never has to write one. */
export async function startUrlKeys(store: Pick<Store, 'signingKeys'>): Promise<UrlKeys> {
  let keys = await store.signingKeys('asset')
  // A rotation goes unnoticed for no longer.
  const stop = everySecond(() => {
    // If the database cannot be read, the next read tries again.
    store.signingKeys('asset').then(
      (read) => (keys = read),
      () => {},
    )
  })
  return { list: () => keys, stop }
}
