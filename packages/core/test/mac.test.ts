// MACs are those of Node's own HMAC, whatever the length of secret and message.
import { createHmac } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMac, createMacKey } from '@mediagen/core/mac.ts'

const encodings = ['binary', 'base64', 'base64url'] as const

test('a MAC is HMAC-SHA-256', () => {
  const bytes = (maxLength: number) => fc.uint8Array({ maxLength })
  fc.assert(
    fc.property(bytes(200), bytes(300), fc.constantFrom(...encodings), (secret, message, encoding) => {
      const right = createHmac('sha256', secret).update(message).digest(encoding)
      expect(createMac(createMacKey(secret), message, encoding)).toBe(right)
    }),
  )
})

test.each([0, 63, 64, 65, 131])('a secret of %d bytes is used as RFC 2104 asks', (length) => {
  const secret = Buffer.alloc(length, 0xaa)
  const message = Buffer.from('Test Using Larger Than Block-Size Key - Hash Key First')
  expect(createMac(createMacKey(secret), message, 'base64')).toBe(
    createHmac('sha256', secret).update(message).digest('base64'),
  )
})
