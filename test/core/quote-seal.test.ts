// Sealed quotes: what was sealed opens for whom it was sealed, and nothing else opens (P7, P9, P11).
import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openQuote, type Quote, type SealingKey, sealQuote } from '../../src/core/credits/quote-seal.ts'

const secret = randomBytes(32)
const createKey = (number: number, bytes = randomBytes(32)): SealingKey => ({ number, secret: createSecretKey(bytes) })
const key = createKey(7, secret)
const keysOf = (...keys: SealingKey[]) => new Map(keys.map((one) => [one.number, one]))
const keys = keysOf(createKey(6), key, createKey(8))
const quote: Quote = {
  model: 'acme/paint/text-to-image',
  credits: 12,
  expiresAtMs: Date.parse('2026-11-20T10:00:00.000Z'),
  digest: 'ab'.repeat(32),
}
const sealed = sealQuote(key, 'acct_1', quote, randomBytes(8))

const quotes = fc.record({
  model: fc.stringMatching(/^[a-z0-9]{1,50}(\/[a-z0-9]{1,50}){0,2}$/),
  credits: fc.maxSafeNat(),
  expiresAtMs: fc.integer({ min: 0, max: 8_640_000_000_000_000 }),
  digest: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex')),
})

test('a quote opens as it was sealed', () => {
  fc.assert(
    fc.property(
      quotes,
      fc.string({ minLength: 1 }),
      fc.uint8Array({ minLength: 8, maxLength: 8 }),
      (any, account, nonce) => {
        const id = sealQuote(key, account, any, nonce)
        expect(id).toMatch(/^quote_[\w-]+$/)
        expect(openQuote(keys, account, id)).toEqual(any)
      },
    ),
  )
})

test('the MAC is HMAC-SHA256, cut to 16 bytes, over account, a zero and body', () => {
  const bytes = Buffer.from(sealed.slice('quote_'.length), 'base64url')
  const hmac = createHmac('sha256', secret).update('acct_1').update('\0').update(bytes.subarray(0, -16))
  expect(bytes.subarray(-16)).toEqual(hmac.digest().subarray(0, 16))
})

test('equal quotes have other ids, by their nonce', () => {
  expect(sealQuote(key, 'acct_1', quote, randomBytes(8))).not.toBe(sealQuote(key, 'acct_1', quote, randomBytes(8)))
})

test("another account's quote does not open", () => {
  expect(openQuote(keys, 'acct_2', sealed)).toBeNull()
  expect(openQuote(keys, '', sealed)).toBeNull()
  expect(openQuote(keys, 'acct_1\0', sealed)).toBeNull()
})

test('a quote does not open with another key, even of the same number', () => {
  expect(openQuote(keysOf(createKey(7)), 'acct_1', sealed)).toBeNull()
  expect(openQuote(keysOf({ ...key, number: 8 }), 'acct_1', sealed)).toBeNull()
})

test('changing any one character makes a quote that does not open', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  for (let at = 'quote_'.length; at < sealed.length; at++) {
    for (const character of [alphabet.at(alphabet.indexOf(sealed.charAt(at)) - 1), '+', '=', ' ', 'é']) {
      expect(openQuote(keys, 'acct_1', sealed.slice(0, at) + character + sealed.slice(at + 1))).toBeNull()
    }
  }
})

test('changing any one bit of what is sealed makes a quote that does not open', () => {
  const bytes = Buffer.from(sealed.slice('quote_'.length), 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
    expect(openQuote(keys, 'acct_1', `quote_${changed.toString('base64url')}`)).toBeNull()
  }
})

test('cutting a quote anywhere makes one that does not open', () => {
  for (let length = 0; length < sealed.length; length++)
    expect(openQuote(keys, 'acct_1', sealed.slice(0, length))).toBeNull()
})

test('nothing that was not sealed opens, and nothing throws', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(openQuote(keys, 'acct_1', text)).toBeNull()
      expect(openQuote(keys, 'acct_1', `quote_${text}`)).toBeNull()
    }),
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      expect(openQuote(keys, 'acct_1', `quote_${Buffer.from(bytes).toString('base64url')}`)).toBeNull()
    }),
  )
})

describe('one quote has one spelling', () => {
  test.each([
    ['padded', `${sealed}=`],
    ['with white space', `${sealed}\n`],
    ['in plain base64', sealed.replaceAll('-', '+').replaceAll('_', '/').replace('quote/', 'quote_')],
    ['with another prefix', sealed.replace('quote_', 'Quote_')],
    ['without a prefix', sealed.slice('quote_'.length)],
  ])('%s it does not open', (_what, id) => {
    expect(id === sealed ? null : openQuote(keys, 'acct_1', id)).toBeNull()
  })
})
