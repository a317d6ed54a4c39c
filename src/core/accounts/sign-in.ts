// Signing people in at an OpenID provider: who may, as the operator writes it, and what doors ask for.
import { hash } from 'node:crypto'
import { type ApiKey, isPermission, type Permission, permissions, type PersonFacts } from './key.ts'
import type { Session } from './session.ts'

/** A person as the provider describes them. */
export interface Person extends PersonFacts {
  /** The provider's id; it never changes. */
  readonly subject: string
}

/** What a person gets. */
export interface Admission {
  readonly accountId: string
  readonly permissions: readonly Permission[]
}

/** A rule of the setting: who it admits, and to what. */
export interface AccessRule extends Admission {
  readonly kind: 'group' | 'domain' | 'email'
  readonly name: string
}

/** Who may sign in. */
export interface SignInAccess {
  /** The first that fits decides. */
  readonly rules: readonly AccessRule[]
  /** The setting as written. */
  readonly written: string
}

/**
 * Parses rules such as `group:ops=acct_1:admin; domain:example.com=acct_2:generate,jobs:read`.
 * @throws Error whose message completes "… must" and names every fault
 */
export function parseSignInAccess(written: string): SignInAccess | null {
  const texts = written
    .split(';')
    .map((text) => text.trim())
    .filter(Boolean)
  if (texts.length === 0) return null
  const faults: string[] = []
  const rules = texts.flatMap((text) => readRule(text, faults))
  if (faults.length > 0)
    throw new Error(
      `must be rules such as \`domain:example.com=acct_…:generate,jobs:read\`, separated by semicolons (${faults.join('; ')})`,
    )
  return { rules, written }
}

const rulePattern = /^(group|domain|email):(.+?)\s*=\s*(acct_[0-9a-z]+)\s*:\s*(.+)$/

function readRule(text: string, faults: string[]): AccessRule[] {
  const [, kind, name = '', accountId = '', list = ''] = rulePattern.exec(text) ?? []
  if (kind === undefined) {
    faults.push(`\`${text}\` is no rule`)
    return []
  }
  const named = list.split(',').map((one) => one.trim())
  for (const one of named)
    if (!isPermission(one)) faults.push(`\`${one}\` is no permission; those are ${permissions.join(', ')}`)
  if (kind === 'domain' && !/^[^\s@]+\.[^\s@]+$/.test(name)) faults.push(`\`${name}\` is no domain`)
  if (kind === 'email' && !/^[^\s@]+@[^\s@]+$/.test(name)) faults.push(`\`${name}\` is no e-mail address`)
  const isNameFolded = kind !== 'group'
  return [
    {
      kind: kind as AccessRule['kind'],
      name: isNameFolded ? name.toLowerCase() : name,
      accountId,
      permissions: [...new Set(named.filter(isPermission))],
    },
  ]
}

/** What the first rule that fits gives a person; null if none does. An e-mail address counts only if it is verified. */
export function admit({ rules }: SignInAccess, { email, groups }: PersonFacts): Admission | null {
  const address = email?.toLowerCase() ?? null
  const domain = address?.slice(address.lastIndexOf('@') + 1)
  const found = rules.find(({ kind, name }) => {
    if (kind === 'group') return groups.includes(name)
    return kind === 'domain' ? domain === name : address === name
  })
  return found ? { accountId: found.accountId, permissions: found.permissions } : null
}

/** The settings by which people sign in. */
export interface SignInRules {
  readonly issuer: string
  readonly access: SignInAccess
  /** What sessions depend on (`toSessionTerms`). */
  readonly terms: string
}

/**
 * A key as the rules of now leave it, by what the provider said last of the person who made it: a key of others stays as it is.
 * @param rules null where people cannot sign in
 * @returns null if they no longer give that person anything in its account
 */
export function limitToRules(key: ApiKey, rules: SignInRules | null): ApiKey | null {
  const { makerPerson: person } = key
  if (person === null) return key
  const admission = rules !== null && rules.issuer === person.issuer ? admit(rules.access, person) : null
  if (admission?.accountId !== key.accountId) return null
  return { ...key, permissions: key.permissions.filter((one) => admission.permissions.includes(one)) }
}

/** What a session depends on besides itself: when this changes, people sign in again, and get what the settings then give. */
export function toSessionTerms(issuer: string, clientId: string, { written }: SignInAccess): string {
  return hash('sha256', JSON.stringify([issuer, clientId, written]), 'base64url')
}

/** Where people sign in, and who one session belongs to. */
export interface SignInState {
  /** The host of the provider; null if people cannot sign in at this server. */
  readonly provider: string | null
  /** The name of the person; null without a session that works. */
  readonly person: string | null
  /** `sess_…` of that session. */
  readonly sessionId: string | null
}

/** A session of the person who asks, in a browser of theirs. Times are milliseconds since 1970. */
export type OwnSession = Pick<
  Session,
  'sessionId' | 'createdAtMs' | 'expiresAtMs' | 'lastSeenAtMs' | 'address' | 'browser'
>

/** A sign-in that has begun. */
export interface BegunSignIn {
  /** Address of the provider, for the browser. */
  readonly url: string
  /** What the browser keeps until it returns; only the core can read it. */
  readonly sealed: string
}

/** What the provider sent with the browser. */
export interface SignInAnswer {
  /** The query of the callback, without `?`. */
  readonly query: string
  readonly sealed: string
  /** Address of the client, if known. */
  readonly address: string | null
  /** How its browser calls itself; null if it does not. */
  readonly browser: string | null
}

/** A session that has begun. */
export interface BegunSession {
  readonly token: string
  readonly expiresAtMs: number
  /** The page to return to. */
  readonly returnTo: string
}

/** What the gateway asks about people. */
export interface SignIns {
  /** @param token the text of a session; null for none */
  describe(token: string | null): Promise<SignInState>
  /**
   * @param origin address at which the browser reaches the gateway
   * @param returnTo path of the page to return to
   * @throws MediagenError `sign_in_unavailable`, `route_not_found` if people cannot sign in here
   */
  begin(origin: string, returnTo: string): Promise<BegunSignIn>
  /** @throws MediagenError `sign_in_refused`, `sign_in_unavailable`, `rate_limited`, `route_not_found` */
  finish(answer: SignInAnswer): Promise<BegunSession>
  /**
   * The sessions that work of the person to whom a session belongs, the newest first.
   * @throws MediagenError `invalid_api_key` if the session does not work, `route_not_found`
   */
  list(token: string): Promise<readonly OwnSession[]>
  /**
   * Ends one of them.
   * @throws MediagenError `session_not_found` for those of others, `invalid_api_key`, `route_not_found`
   */
  end(token: string, sessionId: string): Promise<void>
  /** Ends a session. Nothing happens if it has ended or never was. */
  signOut(token: string): Promise<void>
}
