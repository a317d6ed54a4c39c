import type { JsonObject, JsonValue } from '@mediagen/engine/engine.ts'
// What a start adds to an input, apart from what was sent (P362).
import { assert, boolean, dictionary, infiniteStream, jsonValue, property, string, type Arbitrary } from 'fast-check'
import { expect, test } from 'vitest'
import { addAll, findAdditions } from '../../src/core/jobs/reproduction.ts'
import { seed } from '../seed.ts'

/** Takes some values away, at any depth. */
function thin(value: JsonValue, keeps: () => boolean): JsonValue {
  // Defaults come into objects, and at the ends of lists.
  if (Array.isArray(value)) return value.map((item) => thin(item, keeps))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).flatMap(([key, item]) => (keeps() ? [[key, thin(item, keeps)]] : [])))
}

test('what was sent and what was added make the whole input, whatever its names are', () => {
  const input = dictionary(
    string().filter((key) => key !== '__proto__'),
    jsonValue() as Arbitrary<JsonValue>,
  )
  assert(
    property(input, infiniteStream(boolean()), (generated, keeps) => {
      // Without negative zeros, which JSON does not tell apart.
      const whole = JSON.parse(JSON.stringify(generated)) as JsonObject
      const sent = thin(whole, () => keeps.next().value) as JsonObject
      const before = structuredClone(sent)
      const additions = findAdditions(sent, whole)
      expect(addAll({ input: sent, additions: JSON.parse(JSON.stringify(additions)) })).toEqual(whole)
      expect(sent).toEqual(before)
      if (Object.keys(additions).length === 0) expect(sent).toEqual(whole)
    }),
    { seed },
  )
})

test('only values that were not sent are added, by JSON pointer', () => {
  const sent = { prompt: 'x', steps: [{ 'a/b': 1 }, {}] }
  const completed = { prompt: 'x', width: 512, steps: [{ 'a/b': 1, '~': null }, { on: true }], seed: 7 }
  expect(findAdditions(sent, completed)).toEqual({
    '/width': 512,
    '/steps/0/~0': null,
    '/steps/1/on': true,
    '/seed': 7,
  })
})
