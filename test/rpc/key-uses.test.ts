// The last use of keys costs next to no writes: one for all keys in some seconds, and each key once a minute.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ApiKey, KeyUse } from '../../src/core/accounts/key.ts'
import { createKeyUses } from '../../src/rpc/keys/key-uses.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

function open() {
  const written: KeyUse[][] = []
  const uses = createKeyUses({ recordKeyUses: async (all) => void written.push([...all]) })
  return { uses, written }
}

const keyOf = (keyId: string, lastUsedAtMs: number | null = null) => ({ keyId, lastUsedAtMs }) as ApiKey

test('a thousand uses of three keys are one write', () => {
  const { uses, written } = open()
  for (let ms = 0; ms < 1000; ms++) uses.note(keyOf(`key_${ms % 3}`), ms)
  expect(written).toEqual([])
  vi.advanceTimersByTime(5000)
  expect(written).toEqual([
    [
      { keyId: 'key_0', atMs: 0 },
      { keyId: 'key_1', atMs: 1 },
      { keyId: 'key_2', atMs: 2 },
    ],
  ])
})

test('a key is written once a minute, and one whose record is fresh is not', () => {
  const { uses, written } = open()
  for (let ms = 0; ms < 180_000; ms += 100) {
    uses.note(keyOf('key_stale'), ms)
    uses.note(keyOf('key_fresh', ms - (ms % 60_000) - 1), ms)
    vi.advanceTimersByTime(100)
  }
  expect(written.flat().map(({ keyId, atMs }) => `${keyId} ${atMs}`)).toEqual([
    'key_stale 0',
    'key_stale 60000',
    'key_stale 120000',
  ])
})

test('what is not written yet is written when the server stops, and a failure is no crash', async () => {
  const { uses, written } = open()
  uses.note(keyOf('key_a'), 1)
  uses.flush()
  uses.flush()
  expect(written).toEqual([[{ keyId: 'key_a', atMs: 1 }]])
  const failing = createKeyUses({ recordKeyUses: () => Promise.reject(new Error('disk full')) })
  failing.note(keyOf('key_a'), 1)
  failing.flush()
  await vi.runAllTimersAsync()
})
