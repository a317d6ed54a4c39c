// API keys: their text, their stored form and their permissions. docs/contract.md, section 2.
import { hash, randomInt } from 'node:crypto'
import type { AccountStatus } from './account-status.ts'
import type { Limits } from './limits.ts'

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
// 43 digits of base 62 carry the 256 bits of 32 random bytes.
const secretDigits = 43
const secretPattern = /^mgk_[0-9A-Za-z]{43}$/

/** The permissions of keys, as they are written everywhere except in proto. docs/contract.md, section 2. */
export const permissions = [
  'generate',
  'models:read',
  'jobs:read',
  'wallet:read',
  'webhooks',
  'keys:write',
  'admin',
] as const

export type Permission = (typeof permissions)[number]

/** An API key, without its text. Times are milliseconds since 1970. */
export interface ApiKey {
  readonly keyId: string
  readonly accountId: string
  /** What its owner calls it; null for nothing. */
  readonly name: string | null
  /** How its text begins, to tell keys apart. */
  readonly prefix: string
  readonly permissions: readonly Permission[]
  readonly createdAtMs: number
  readonly expiresAtMs: number | null
  readonly revokedAtMs: number | null
  /** When it was last used, up to about a minute late; null for never. */
  readonly lastUsedAtMs: number | null
  readonly limits: Limits
  /** The key that made it; null for the operator. What it spends counts against the limits of that key, too. */
  readonly makerId: string | null
  /** Who that key is, if it is a person. */
  readonly makerPerson: KnownPerson | null
  /** The limits of that key and of the account, and what the account may do, as they were when the key was read. */
  readonly makerLimits: Limits
  readonly accountLimits: Limits
  readonly accountStatus: AccountStatus
}

/** What an OpenID provider says of a person, which rules are held against. */
export interface PersonFacts {
  /** The e-mail address if the provider has verified it, else null. */
  readonly email: string | null
  readonly groups: readonly string[]
}

/** A person who has signed in, as the provider described them last. */
export interface KnownPerson extends PersonFacts {
  readonly issuer: string
}

/** A key before it is recorded. */
export interface NewKey extends Pick<
  ApiKey,
  'accountId' | 'name' | 'prefix' | 'permissions' | 'expiresAtMs' | 'limits' | 'makerId'
> {
  readonly secretHash: Buffer
}

/** A use of a key. */
export interface KeyUse {
  readonly keyId: string
  /** The session that stood for it, if one did. */
  readonly sessionId?: string
  readonly atMs: number
}

/** Uses of a key are recorded at most this often. */
export const keyUseMs = 60_000
// `mgk_` and four of 43 characters, which leaves enough to guess.
const prefixLength = 8

export function createKeySecret(): string {
  return createSecretText('mgk_')
}

/** A prefix and 256 random bits. */
export function createSecretText(prefix: string): string {
  let digits = ''
  for (let i = 0; i < secretDigits; i++) digits += base62.charAt(randomInt(62))
  return prefix + digits
}

/** As much of the text of a key as may be shown. */
export function keyPrefix(secret: string): string {
  return secret.slice(0, prefixLength)
}

/** Whether `text` has the form of a key. */
export function isKeySecret(text: string): boolean {
  return secretPattern.test(text)
}

/** The stored form of a key: the SHA-256 of its text. A key is random enough to need no salt. */
export function hashKeySecret(secret: string): Buffer {
  return Buffer.from(hash('sha256', secret, 'hex'), 'hex')
}

export function isPermission(text: string): text is Permission {
  return (permissions as readonly string[]).includes(text)
}

/** Whether the key works at `nowMs`. */
export function isLive(key: ApiKey, nowMs: number): boolean {
  return key.revokedAtMs === null && (key.expiresAtMs === null || nowMs < key.expiresAtMs)
}
