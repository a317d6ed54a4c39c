// Bounds of texts: as Ajv itself checks them, and reported in the same words and order.
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkLengthsFast } from '../../src/schema/lengths.ts'

const slow = new Ajv2020({ allErrors: true })
const fast = checkLengthsFast(new Ajv2020({ allErrors: true }))

/** What is wrong with texts, without the path in the schema. */
function findErrors(ajv: Ajv2020, items: object, texts: unknown[]) {
  const check = ajv.compile({ items })
  check(texts)
  return (check.errors ?? []).map(({ instancePath, keyword, params, message }) => ({
    instancePath,
    keyword,
    params,
    message,
  }))
}

test('any text is found too long or too short exactly where Ajv finds it', () => {
  const limit = fc.integer({ min: 0, max: 12 })
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '☃', '😀', '\ud800', '\udc00'), maxLength: 14 })
  fc.assert(
    fc.property(limit, limit, fc.array(text), (minLength, maxLength, sent) => {
      const items = { type: 'string', pattern: '^[^é]*$', minLength, maxLength }
      expect(findErrors(fast, items, sent)).toEqual(findErrors(slow, items, sent))
    }),
  )
})

test('only texts have a length', () => {
  expect(findErrors(fast, { minLength: 3, maxLength: 2 }, [7, null, ['long list', 2, 3]])).toEqual([])
})
