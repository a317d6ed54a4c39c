// What is made at its first use and kept. What failed is forgotten, so that the next use tries again: one moment without free
// file descriptors must not break a page until the next start.

/** Where things are kept by key: a `Map` or a `WeakMap`. */
interface Kept<Key, Made> {
  get(key: Key): Promise<Made> | undefined
  set(key: Key, made: Promise<Made>): unknown
  delete(key: Key): unknown
}

/** What is kept under a key; made now if nothing is. */
export function findOrMake<Key, Made>(kept: Kept<Key, Made>, key: Key, make: () => Promise<Made>): Promise<Made> {
  const known = kept.get(key)
  if (known) return known
  const made = make()
  kept.set(key, made)
  made.catch(() => kept.delete(key))
  return made
}

/** Makes something at its first use. */
export function onFirstUse<Made>(make: () => Promise<Made>): () => Promise<Made> {
  const kept = new Map<null, Promise<Made>>()
  return () => findOrMake(kept, null, make)
}
