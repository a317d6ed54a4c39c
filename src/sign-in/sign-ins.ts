// Signs people in: sends them to the provider, and makes a session of what comes back if the settings admit them.
import { hash, randomBytes } from 'node:crypto'
import { hashKeySecret } from '../core/accounts/key.ts'
import { createSessionToken, isSessionLive, type SessionStore } from '../core/accounts/session.ts'
import { admit, type BegunSession, type Person, type SignInAccess, type SignIns } from '../core/accounts/sign-in.ts'
import type { Clock } from '../core/clock.ts'
import { MediagenError } from '../core/errors.ts'
import type { Store } from '../core/store.ts'
import type { Provider } from './provider.ts'
import { openSignIn, sealSignIn } from './seal.ts'

/** How long a sign-in may take. */
export const pendingMs = 600_000
const longestPath = 500

/** What signing in needs. */
export interface SignInDeps {
  readonly store: SessionStore & Pick<Store, 'signingKeys'>
  readonly clock: Clock
  readonly provider: Provider
  readonly issuer: string
  readonly access: SignInAccess
  /** As sessions have it (`SignInCommand`). */
  readonly terms: string
  readonly sessionMs: number
  /** Counts an answer before it is checked; what it returns takes that back. @throws MediagenError `rate_limited` */
  readonly count: (address: string | null) => () => void
}

/** Signing in where it is off. */
export const noSignIns: SignIns = {
  describe: async () => ({ provider: null, person: null }),
  begin: async () => Promise.reject(off()),
  finish: async () => Promise.reject(off()),
  signOut: async () => {},
}

function off(): MediagenError {
  return new MediagenError('route_not_found', 'People cannot sign in at this server: it works with API keys.')
}

/** Creates it. */
export function createSignIns(deps: SignInDeps): SignIns {
  const { store, clock, provider, terms } = deps

  async function findPerson(token: string): Promise<string | null> {
    const found = await store.findSession(token)
    if (found === null || !isSessionLive(found, terms, clock.nowMs())) return null
    return found.key.name
  }

  return {
    describe: async (token) => ({ provider: provider.name, person: token === null ? null : await findPerson(token) }),
    async begin(origin, returnTo) {
      const { url, checks } = await provider.begin(toRedirectUri(origin))
      const expiresAtMs = clock.nowMs() + pendingMs
      const pending = { checks, origin, returnTo: toOwnPath(returnTo), expiresAtMs }
      return { url, sealed: sealSignIn(await store.signingKeys('quote'), pending) }
    },
    async finish(answer) {
      const pending = openSignIn(await store.signingKeys('quote'), answer.sealed)
      const state = new URLSearchParams(answer.query).get('state')
      if (pending === null || state !== pending.checks.state || clock.nowMs() > pending.expiresAtMs) throw notBegun()
      const succeed = deps.count(answer.address)
      const callback = new URL(`${toRedirectUri(pending.origin)}?${answer.query}`)
      const person = await provider.finish(callback, pending.checks)
      const session = await open(deps, person, state, pending.returnTo)
      succeed()
      return session
    },
    async signOut(token) {
      const found = await store.findSession(token)
      if (found === null || found.session.revokedAtMs !== null) return
      const { sessionId, keyId, accountId } = found.session
      await store.revokeSession(sessionId, { kind: 'key', keyId, accountId })
    },
  }
}

/** Makes the session. */
async function open(deps: SignInDeps, person: Person, state: string, returnTo: string): Promise<BegunSession> {
  const admission = admit(deps.access, person)
  if (admission === null) throw notAdmitted(deps.provider.name, person)
  const token = createSessionToken()
  const outcome = await deps.store.signIn({
    ...admission,
    issuer: deps.issuer,
    subject: person.subject,
    name: person.email ?? person.subject,
    terms: deps.terms,
    tokenHash: new Uint8Array(hashKeySecret(token)),
    stateHash: new Uint8Array(Buffer.from(hash('sha256', state, 'hex'), 'hex')),
    keyHash: new Uint8Array(randomBytes(32)),
    lastsMs: deps.sessionMs,
  })
  switch (outcome.outcome) {
    case 'done':
      return { token, expiresAtMs: outcome.session.expiresAtMs, returnTo }
    case 'replayed':
      throw notBegun()
    case 'revoked':
      throw new MediagenError(
        'sign_in_refused',
        `The operator of this server has revoked your access (${outcome.keyId}).`,
      )
    case 'no_account':
      throw new MediagenError(
        'sign_in_refused',
        'The account that you would use does not exist, or is frozen or closed. Ask the operator.',
      )
  }
}

function notBegun(): MediagenError {
  return new MediagenError(
    'sign_in_refused',
    'This sign-in was begun in another browser, finished before, or took longer than ten minutes. Begin again.',
  )
}

function notAdmitted(provider: string, { email }: Person): MediagenError {
  const who = email === null ? 'you, without an e-mail address that it has verified' : email
  return new MediagenError(
    'sign_in_refused',
    `${provider} signed in ${who}, whom this server does not admit. Ask its operator for access.`,
  )
}

function toRedirectUri(origin: string): string {
  return `${origin}/sign-in/callback`
}

/** The path if it leads to a page of this server, else that of the console. */
function toOwnPath(path: string): string {
  const here = 'http://here'
  const url = path.startsWith('/') && path.length <= longestPath ? URL.parse(path, here) : null
  // Of `/.//elsewhere`, `//elsewhere` is left, which is the address of another host.
  return url?.origin === here && !url.pathname.startsWith('//') ? url.pathname + url.search + url.hash : '/'
}
