// Values that are created on first use and kept. A failure is not kept, so that the next use tries again: a moment without free
// file descriptors must not break a page until the next start.

/** Where values are kept by key: a `Map` or a `WeakMap`. */
interface Kept<Key, Made> {
  get(key: Key): Promise<Made> | undefined
  set(key: Key, made: Promise<Made>): unknown
  delete(key: Key): unknown
}

/** The value of a key, created if there is none. */
export function findOrMake<Key, Made>(kept: Kept<Key, Made>, key: Key, make: () => Promise<Made>): Promise<Made> {
  const known = kept.get(key)
  if (known) return known
  const made = make()
  kept.set(key, made)
  made.catch(() => kept.delete(key))
  return made
}

/** Wraps a function so that it creates its value on the first call. */
export function onFirstUse<Made>(make: () => Promise<Made>): () => Promise<Made> {
  const kept = new Map<null, Promise<Made>>()
  return () => findOrMake(kept, null, make)
}
