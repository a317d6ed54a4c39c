// Navigates within the console.
import { type Route, toHash } from './route.ts'

/** Navigates to a view; the current view is reloaded. */
export function navigate(route: Route): void {
  const hash = toHash(route)
  if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange'))
  else location.hash = hash
}
