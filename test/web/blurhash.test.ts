// The console's blurhashes show what the package that makes them shows.
import { decode, encode } from 'blurhash'
import { expect, test } from 'vitest'
import { decodeBlurhash } from '../../web/blurhash.ts'

test.each([
  ['LEHV6nWB2yk8pyo0adR*.7kCMdnj', 8, 8],
  ['00TI:j', 4, 2],
  [
    encode(
      Uint8ClampedArray.from({ length: 16 * 9 * 4 }, (_, at) => (at * 37) % 256),
      16,
      9,
      9,
      1,
    ),
    32,
    32,
  ],
])('%s', (hash, width, height) => {
  const [ours, theirs] = [decodeBlurhash(hash, width, height), decode(hash, width, height)]
  expect(ours).not.toBeNull()
  for (const [at, value] of theirs.entries()) expect(Math.abs((ours?.[at] ?? -9) - value)).toBeLessThanOrEqual(1)
})

test('an invalid blurhash is refused', () => {
  for (const text of ['', 'L', 'LEHV6nWB2yk8pyo0adR*.7kCMdn', 'LEHV6nWB2yk8pyo0adR*.7kCMdn"'])
    expect(decodeBlurhash(text, 4, 4)).toBeNull()
})
