// HMAC from one-shot hashes is the HMAC that everybody else computes.
import { createHmac } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { prepareHmac } from '../../src/core/hmac.ts'

test('for every key of up to 64 bytes and every message it is the HMAC-SHA256 of Node', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), fc.array(fc.uint8Array(), { maxLength: 4 }), (secret, parts) => {
      const expected = createHmac('sha256', secret).update(Buffer.concat(parts)).digest()
      expect(prepareHmac(secret)(...parts)).toEqual(expected)
    }),
  )
})

test('test case 2 of RFC 4231', () => {
  const digest = prepareHmac(Buffer.from('Jefe'))(Buffer.from('what do ya want for nothing?'))
  expect(digest.toString('hex')).toBe('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843')
})

test('a key that would be hashed first is refused', () => {
  expect(() => prepareHmac(Buffer.alloc(65))).toThrow(RangeError)
})
