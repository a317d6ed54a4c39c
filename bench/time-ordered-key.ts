// Idempotency keys for loads.
import { randomUUID } from 'node:crypto'

/** A UUIDv7, like those of our clients, which begin with the time. Made so fast that the load does not wait for it. */
export function createTimeOrderedKey(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  // Behind the version, both kinds have the same form.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
