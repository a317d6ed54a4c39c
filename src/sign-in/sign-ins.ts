// Signs people in: sends them to the provider, and makes a session of what comes back if the settings admit them.
import { hash, randomBytes } from 'node:crypto'
import { hashKeySecret } from '../core/accounts/key.ts'
import {
  createSessionToken,
  type FoundSession,
  isSessionLive,
  mostSessions,
  type Session,
  type SessionStore,
} from '../core/accounts/session.ts'
import {
  admit,
  type BegunSession,
  type Person,
  type SignInAccess,
  type SignInAnswer,
  type SignIns,
} from '../core/accounts/sign-in.ts'
import type { Clock } from '../core/clock.ts'
import { MediagenError } from '../core/errors.ts'
import type { Store } from '../core/store.ts'
import type { Provider } from './provider.ts'
import { openSignIn, sealSignIn } from './seal.ts'

/** How long a sign-in may take. */
export const pendingMs = 600_000
const longestPath = 500
// An address of IPv6 with a zone.
const longestAddress = 100
const longestBrowser = 300

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
  describe: async () => ({ provider: null, person: null, sessionId: null }),
  begin: async () => Promise.reject(off()),
  finish: async () => Promise.reject(off()),
  list: async () => Promise.reject(off()),
  end: async () => Promise.reject(off()),
  signOut: async () => {},
}

function off(): MediagenError {
  return new MediagenError('route_not_found', 'People cannot sign in at this server: it works with API keys.')
}

/** Creates it. */
export function createSignIns(deps: SignInDeps): SignIns {
  const { store, clock, provider, terms } = deps

  async function find(token: string): Promise<FoundSession | null> {
    const found = await store.findSession(token)
    return found !== null && isSessionLive(found, terms, clock.nowMs()) ? found : null
  }

  /** The sessions that work of the person to whom this one belongs. */
  async function listOwn(token: string): Promise<readonly Session[]> {
    const found = await find(token)
    if (found === null)
      throw new MediagenError('invalid_api_key', 'The session is unknown, has ended or was revoked. Sign in again.')
    const { accountId, keyId } = found.key
    const page = { limit: mostSessions, offset: 0 }
    return (await store.listSessions({ accountId, keyId, working: { terms } }, page)).items
  }

  return {
    async describe(token) {
      const found = token === null ? null : await find(token)
      const { key, session } = found ?? {}
      return { provider: provider.name, person: key?.name ?? null, sessionId: session?.sessionId ?? null }
    },
    async list(token) {
      const own = await listOwn(token)
      return own.map(({ sessionId, createdAtMs, expiresAtMs, lastSeenAtMs, address, browser }) => ({
        sessionId,
        createdAtMs,
        expiresAtMs,
        lastSeenAtMs,
        address,
        browser,
      }))
    },
    async end(token, sessionId) {
      const own = (await listOwn(token)).find((one) => one.sessionId === sessionId)
      if (own === undefined) throw sessionNotFound(sessionId)
      const { keyId, accountId } = own
      await store.revokeSession(sessionId, { kind: 'key', keyId, accountId })
    },
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
      const session = await open(deps, person, { ...answer, state, returnTo: pending.returnTo })
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
async function open(
  deps: SignInDeps,
  person: Person,
  {
    state,
    returnTo,
    address,
    browser,
  }: Pick<SignInAnswer, 'address' | 'browser'> & { readonly state: string; readonly returnTo: string },
): Promise<BegunSession> {
  const admission = admit(deps.access, person)
  if (admission === null) throw notAdmitted(deps.provider.name, person)
  const token = createSessionToken()
  const outcome = await deps.store.signIn({
    ...admission,
    issuer: deps.issuer,
    subject: person.subject,
    name: person.email ?? person.subject,
    facts: person,
    terms: deps.terms,
    tokenHash: new Uint8Array(hashKeySecret(token)),
    stateHash: new Uint8Array(Buffer.from(hash('sha256', state, 'hex'), 'hex')),
    keyHash: new Uint8Array(randomBytes(32)),
    lastsMs: deps.sessionMs,
    address: address?.slice(0, longestAddress) ?? null,
    browser: browser?.replaceAll(/\p{C}/gu, '').slice(0, longestBrowser) || null,
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

/** The refusal of a session that is not there, or is not that of the person who asks. */
export function sessionNotFound(sessionId: string): MediagenError {
  return new MediagenError('session_not_found', `There is no session "${sessionId}".`)
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
