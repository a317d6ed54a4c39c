// The keys that sign URLs of files, which another process may rotate at any time.
import type { SigningKey, Store } from '@mediagen/core/store.ts'
import { everySecond } from '../runtime/every-second.ts'
import { createRound } from '../runtime/round.ts'

/** A recent copy of the keys. */
export interface UrlKeys {
  /** The newest last; never empty. */
  list(): readonly SigningKey[]
  stop(): void
}

/** Reads the keys now and then repeatedly. Creates the first key at once, so a request never has to write one. */
export async function startUrlKeys(store: Pick<Store, 'signingKeys'>): Promise<UrlKeys> {
  let keys = await store.signingKeys('asset')
  // One read at a time: an older answer that comes last would bring back a key that was revoked. If the database cannot be read,
  // the next read tries again.
  const reading = createRound(
    async () => {
      keys = await store.signingKeys('asset')
    },
    () => {},
  )
  // A rotation goes unnoticed for no longer.
  const stop = everySecond(() => reading.again())
  return { list: () => keys, stop }
}
