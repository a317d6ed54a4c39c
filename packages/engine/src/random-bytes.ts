// Random bytes for ids and nonces, drawn in batches: eight bytes cost as much as thousands.
import { randomBytes } from 'node:crypto'

const poolBytes = 4096
let pool = randomBytes(0)
let taken = 0

/** `count` random bytes, at most 4096; no byte is used twice. */
export function takeRandomBytes(count: number): Uint8Array {
  if (taken + count > pool.length) {
    pool = randomBytes(poolBytes)
    taken = 0
  }
  taken += count
  return pool.subarray(taken - count, taken)
}
