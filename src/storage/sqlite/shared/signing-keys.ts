// Signing keys: the secrets that seal quotes and sign asset URLs, numbered within their purpose.
import { randomBytes } from 'node:crypto'
import { type Actor, systemActor } from '../../../core/accounts/audit.ts'
import type { SigningKey, SigningPurpose } from '../../../core/store.ts'
import { createAuditWriter } from '../accounts/audit.ts'
import type { Connection } from '../connection.ts'
import type { Writing } from '../threads/writing.ts'

/** A signing key in the form that crosses threads, where a Buffer becomes a plain Uint8Array. */
interface SigningKeyRow {
  readonly number: number
  readonly secret: Uint8Array
  readonly createdAtMs: number
}

const listSql = 'SELECT number, secret, created_at AS createdAtMs FROM signing_keys WHERE purpose = ? ORDER BY number'

export function createSigningKeyCommands(writing: Writing) {
  const { db, nowMs } = writing
  const record = createAuditWriter(writing)
  const list = db.prepare<[SigningPurpose], SigningKeyRow>(listSql)
  const insert = db.prepare<[SigningPurpose, SigningPurpose, Uint8Array, number], SigningKeyRow>(
    `INSERT INTO signing_keys (purpose, number, secret, created_at)
     VALUES (?, (SELECT coalesce(max(number), 0) + 1 FROM signing_keys WHERE purpose = ?), ?, ?) RETURNING number, secret, created_at AS createdAtMs`,
  )
  const removeOlder = db.prepare<[SigningPurpose, number]>('DELETE FROM signing_keys WHERE purpose = ? AND number < ?')
  const make = (purpose: SigningPurpose) => insert.all(purpose, purpose, randomBytes(32), nowMs())
  return {
    /** Creates the first key unless another process was faster. */
    ensureSigningKeys(purpose: SigningPurpose): readonly SigningKeyRow[] {
      const keys = list.all(purpose)
      return keys.length > 0 ? keys : make(purpose)
    },
    rotateSigningKey(purpose: SigningPurpose, by: Actor = systemActor, revoke = false): readonly SigningKeyRow[] {
      const made = make(purpose)
      const [{ number } = { number: 0 }] = made
      const before = number > 1 ? { number: number - 1 } : null
      const after = { number, ...(revoke && { revoked: removeOlder.run(purpose, number).changes }) }
      record({ act: 'signing_key.rotated', subject: purpose, accountId: null, before, after }, by)
      return made
    },
  }
}

export function createSigningKeyReads(db: Connection) {
  const list = db.prepare<[SigningPurpose], SigningKeyRow>(listSql)
  return { signingKeys: (purpose: SigningPurpose): SigningKey[] => list.all(purpose).map(toSigningKey) }
}

/** Turns a key from the other thread into the port's. */
export function toSigningKey({ secret, ...key }: SigningKeyRow): SigningKey {
  return { ...key, secret: Buffer.from(secret) }
}
