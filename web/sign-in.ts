// People who sign in at the provider that the server names: their session is a cookie, which no script can read.
import { element, linkButton } from './element.ts'

/** Where people sign in, and who is signed in. */
export interface SignInState {
  /** The host of the provider; null if people cannot sign in. */
  readonly provider: string | null
  /** Null if nobody is signed in. */
  readonly person: string | null
  /** The id of their session. */
  readonly session_id: string | null
}

/** In place of a key: requests carry the cookie. */
export const noKey = ''

/** Asks the server. One that cannot be asked signs nobody in. */
export async function readSignIn(): Promise<SignInState> {
  try {
    const response = await fetch('/sign-in/state', { cache: 'no-store' })
    if (response.ok) return (await response.json()) as SignInState
  } catch {
    // The next request shows what is wrong.
  }
  return { provider: null, person: null, session_id: null }
}

/** The way to the provider, which leads back to this page; empty where people cannot sign in. */
export function signInWay(): HTMLElement {
  const way = element('div', { class: 'sign-in' })
  void readSignIn().then(({ provider }) => {
    if (provider === null) return
    const back = encodeURIComponent(location.pathname + location.hash)
    way.append(
      linkButton(`Sign in with ${provider}`, `/sign-in?to=${back}`, { icon: 'link', look: 'quiet' }),
      element('span', { class: 'fine' }, 'or enter a key:'),
    )
  })
  return way
}

/** Ends the session. */
export async function endSession(): Promise<void> {
  const response = await fetch('/sign-out', { method: 'POST' })
  if (!response.ok) throw new Error('The server did not sign you out. Try again.')
}
