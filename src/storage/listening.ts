// Listeners of a store.

/** Adds a listener. @returns removes it */
export function subscribe<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
