// API keys: their text, what is stored of them, and when they work (P84, P85).
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  type ApiKey,
  createKeySecret,
  hashKeySecret,
  isKeySecret,
  isLive,
  isPermission,
  permissions,
} from '../../src/core/accounts/key.ts'
import { noLimits } from '../../src/core/accounts/limits.ts'

const key: ApiKey = {
  keyId: 'key_1',
  accountId: 'acct_1',
  name: null,
  prefix: 'mgk_AbCd',
  permissions: ['generate'],
  createdAtMs: 0,
  expiresAtMs: null,
  revokedAtMs: null,
  lastUsedAtMs: null,
  limits: noLimits,
  makerId: null,
  makerPerson: null,
  makerLimits: noLimits,
  accountLimits: noLimits,
  accountStatus: 'active',
}

test('a key is mgk_ and as many digits of base 62 as 32 random bytes need', () => {
  const keys = Array.from({ length: 1000 }, createKeySecret)
  expect(keys.every((text) => /^mgk_[0-9A-Za-z]{43}$/.test(text) && isKeySecret(text))).toBe(true)
  expect(62n ** 43n >= 2n ** 256n).toBe(true)
  expect(new Set(keys).size).toBe(1000)
  expect(new Set(keys.join('').replaceAll('mgk_', '')).size).toBe(62)
})

test.each([
  '',
  'mgk_',
  `mgk_${'a'.repeat(42)}`,
  `mgk_${'a'.repeat(44)}`,
  `MGK_${'a'.repeat(43)}`,
  `mgk_${'-'.repeat(43)}`,
  ` mgk_${'a'.repeat(43)}`,
  `mgk_${'a'.repeat(43)}\n`,
])('%j is no key', (text) => {
  expect(isKeySecret(text)).toBe(false)
})

test('only the SHA-256 of a key is stored', () => {
  const secret = createKeySecret()
  expect(hashKeySecret(secret)).toEqual(createHash('sha256').update(secret).digest())
})

test('a key without an end works for ever, one with an end until that very millisecond, a revoked one never', () => {
  expect(isLive(key, Number.MAX_SAFE_INTEGER)).toBe(true)
  expect(isLive({ ...key, expiresAtMs: 1000 }, 999)).toBe(true)
  expect(isLive({ ...key, expiresAtMs: 1000 }, 1000)).toBe(false)
  expect(isLive({ ...key, revokedAtMs: 500 }, 0)).toBe(false)
})

test('permissions are generate, models:read, jobs:read, wallet:read, webhooks, keys:write and admin', () => {
  expect(permissions).toEqual([
    'generate',
    'models:read',
    'jobs:read',
    'wallet:read',
    'webhooks',
    'keys:write',
    'admin',
  ])
  expect(permissions.every(isPermission)).toBe(true)
  expect(['', 'Generate', 'models', 'toString'].some(isPermission)).toBe(false)
})
