// People who sign in, and their sessions. A person is a key whose text nobody has; a session stands for that key until it ends.
import type { Page, PageRequest } from '../page.ts'
import type { Actor } from './audit.ts'
import { type ApiKey, createSecretText, isLive, type Permission, type PersonFacts } from './key.ts'

/** How the texts of sessions begin, and the `prefix` of every key that is a person. */
export const sessionPrefix = 'mgs_'
const tokenPattern = /^mgs_[0-9A-Za-z]{43}$/
/** Live sessions of a person; the oldest end first. */
export const mostSessions = 20
/** How long the record of a session stays after it has expired. */
export const keepSessionsMs = 30 * 86_400_000

/** A session, without its text. Times are milliseconds since 1970. */
export interface Session {
  /** `sess_…`, sorts by time. */
  readonly sessionId: string
  readonly keyId: string
  readonly accountId: string
  /** The name of the person. */
  readonly name: string | null
  readonly createdAtMs: number
  readonly expiresAtMs: number
  /** When it was last used, up to about a minute late; null for never. */
  readonly lastSeenAtMs: number | null
  /** Of the client that signed in, if known. */
  readonly address: string | null
  /** How the browser calls itself (`User-Agent`); null if it does not. */
  readonly browser: string | null
  /** The settings that allowed it (`SignInCommand`). */
  readonly terms: string
  /** When it, or the key, was revoked; null if neither was. */
  readonly revokedAtMs: number | null
}

/** A session as it is found by its text. */
export interface FoundSession {
  readonly session: Session
  readonly key: ApiKey
}

/** Which sessions to list. */
export interface SessionFilter {
  /** Null for all accounts. */
  readonly accountId: string | null
  /** Only those of a person; null for all. */
  readonly keyId?: string | null
  /** Only those that work: that are not revoked, have time left and are of these terms; null for any. */
  readonly working?: { readonly terms: string | null } | null
}

/** A person whom the provider vouches for, and a session to make. */
export interface SignInCommand {
  readonly issuer: string
  /** The provider's id of the person; it never changes. */
  readonly subject: string
  readonly name: string
  readonly facts: PersonFacts
  readonly accountId: string
  readonly permissions: readonly Permission[]
  /** The settings that allow it, in short: a session works only while they are the same. */
  readonly terms: string
  /** Of the text of the session, as keys are hashed. */
  readonly tokenHash: Uint8Array
  /** Of the state of the sign-in, which makes one session. */
  readonly stateHash: Uint8Array
  /** 32 random bytes, for the key that nobody has. */
  readonly keyHash: Uint8Array
  readonly lastsMs: number
  /** Of the client, if known. */
  readonly address: string | null
  readonly browser: string | null
}

export type SignInOutcome =
  | { readonly outcome: 'done'; readonly session: Session }
  /** The state has made a session before. */
  | { readonly outcome: 'replayed' }
  /** The key of the person is revoked. */
  | { readonly outcome: 'revoked'; readonly keyId: string }
  | { readonly outcome: 'no_account' }

/** The part of the store with people and sessions. */
export interface SessionStore {
  /**
   * Makes a session, and the key of the person at the first one. The key gets the name and the permissions of each sign-in; in
   * another account it becomes another key, and the one before is revoked.
   */
  signIn(command: SignInCommand): Promise<SignInOutcome>
  /** The session with this text; may be answered from a cache for half a second. */
  findSession(token: string): Promise<FoundSession | null>
  /** The newest first. */
  listSessions(filter: SessionFilter, page: PageRequest): Promise<Page<Session>>
  /** Null if there is none. Revoking twice keeps the first time. */
  revokeSession(sessionId: string, by?: Actor): Promise<Session | null>
  /**
   * Ends all sessions of a person, and with `withKeys` the keys that they made; they can sign in again. A key of a person without a
   * session makes none. Null if the key is not one of a person.
   */
  endSessions(keyId: string, withKeys: boolean, by?: Actor): Promise<EndedSessions | null>
  /** Lets the person of a revoked key sign in again, as a new key. Null if the key is not one of a person who was kept out. */
  readmitPerson(keyId: string, by?: Actor): Promise<ApiKey | null>
}

/** How many ended. */
export interface EndedSessions {
  readonly sessions: number
  readonly keys: number
}

export function createSessionToken(): string {
  return createSecretText(sessionPrefix)
}

/** Whether `text` has the form of the text of a session. */
export function isSessionToken(text: string): boolean {
  return tokenPattern.test(text)
}

/** Whether a session works at `nowMs`, under the settings of now. */
export function isSessionLive({ session, key }: FoundSession, now: string | null, nowMs: number): boolean {
  return session.revokedAtMs === null && nowMs < session.expiresAtMs && session.terms === now && isLive(key, nowMs)
}
