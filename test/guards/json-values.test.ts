// How many values a JSON text holds, counted before it is parsed.
import { assert, constantFrom, json, property } from 'fast-check'
import { expect, test } from 'vitest'
import { countJsonValues, refuseManyValues } from '../../src/guards/json-values.ts'

function countParsed(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, inner) => sum + countParsed(inner), 1)
}

test.each(['1', '""', '[]', '{}', ' [ ] ', '[[],[]]', '{"a":{"b":[1,2,"x,y\\"],["]}, "c":[ ]}', '[{"a":"\\\\"},2]'])(
  'the values of %s are those that parsing it gives',
  (text) => expect(countJsonValues(Buffer.from(text), 1000)).toBe(countParsed(JSON.parse(text))),
)

test('any JSON, tight or with white space', () => {
  assert(
    property(json(), constantFrom(undefined, 2, '\t'), (text, space) => {
      const value: unknown = JSON.parse(text)
      const bytes = Buffer.from(JSON.stringify(value, null, space))
      expect(countJsonValues(bytes, 1e6)).toBe(countParsed(value))
    }),
    { seed: 20_261_122, numRuns: 300 },
  )
})

test('counting ends once there are too many, and invalid JSON does no harm', () => {
  expect(countJsonValues(Buffer.from('0,'.repeat(1000)), 10)).toBe(11)
  for (const text of ['', '"', '"\\', '}}}]]', '[[[', '{"a"']) countJsonValues(Buffer.from(text), 10)
})

test('the maximum number is accepted; one more is refused with the limit', () => {
  const list = (values: number): Buffer => Buffer.from(JSON.stringify(Array(values - 1).fill(0)))
  refuseManyValues(list(10), 10)
  expect(() => refuseManyValues(list(11), 10)).toThrow('more than the 10 values')
})
