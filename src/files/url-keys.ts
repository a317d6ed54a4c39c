// The keys that sign URLs of files, which another process may rotate at any time.
import { createSecretKey, type KeyObject } from 'node:crypto'
import { everySecond } from '../core/every-second.ts'
import { createRound } from '../core/round.ts'
import type { SigningKey, Store } from '../core/store.ts'

const leastSecretBytes = 16

/** A key that signs URLs. */
export interface UrlKey extends Omit<SigningKey, 'secret'> {
  readonly secret: KeyObject
}

/** A recent copy of the keys. */
export interface UrlKeys {
  /** The newest last; never empty. */
  list(): readonly UrlKey[]
  stop(): void
}

/** Reads the keys now and then repeatedly. Creates the first key at once, so a request never has to write one. */
export async function startUrlKeys(store: Pick<Store, 'signingKeys'>): Promise<UrlKeys> {
  const read = async () => (await store.signingKeys('asset')).map(toUrlKey)
  let keys = await read()
  // One read at a time: an older answer that comes last would bring back a key that was revoked. If the database cannot be read,
  // the next read tries again.
  const reading = createRound(
    async () => {
      keys = await read()
    },
    () => {},
  )
  // A rotation by another process is noticed after about a second.
  const stop = everySecond(() => reading.again())
  return { list: () => keys, stop }
}

/** Prepares a key for use. @throws RangeError for a secret that could be guessed */
export function toUrlKey({ secret, ...key }: SigningKey): UrlKey {
  if (secret.length < leastSecretBytes)
    throw new RangeError(`the secret of URLs has fewer than ${leastSecretBytes} bytes`)
  return { ...key, secret: createSecretKey(secret) }
}
