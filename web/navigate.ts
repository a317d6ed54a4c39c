// Going to a place of the console from within it.
import { type Route, toHash } from './route.ts'

/** Goes there; a place that is shown already is shown anew. */
export function navigate(route: Route): void {
  const hash = toHash(route)
  if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange'))
  else location.hash = hash
}
