// Names that a JSON text gives twice.
import { assert, json, property } from 'fast-check'
import { expect, test } from 'vitest'
import type { MediagenError } from '../../src/core/errors.ts'
import { refuseRepeatedNames } from '../../src/guards/json-names.ts'

/** Where a text is refused. */
function findPlaces(text: string): string[] {
  JSON.parse(text)
  try {
    refuseRepeatedNames(text)
    return []
  } catch (error) {
    return (error as MediagenError).details.violations!.map(({ pointer }) => pointer)
  }
}

test.each([
  ['{"a":1,"a":2,"a":3}', ['/a']],
  ['{"a":{"b":1},"b":{"b":2,"b":3}}', ['/b/b']],
  ['[{"a":1},{"a":1,"\\u0061":1}]', ['/1/a']],
  ['{"\\\\":1,"\\\\":2,"\\"":[],"\\u0022":{}}', ['/\\', '/"']],
  ['{"":1,"":2}', ['/']],
  ['{"a":["a","a",{"a":"a"}],"b":"a\\\\\\",\\"a\\":1","c":{}}', []],
  ['{"__proto__":1,"constructor":{"__proto__":1}}', []],
  ['"a"', []],
])('%s', (text, places) => expect(findPlaces(text)).toEqual(places))

test('what is written from objects is never refused', () => {
  assert(
    property(json(), (text) => {
      expect(findPlaces(JSON.stringify(JSON.parse(text), null, 1))).toEqual([])
    }),
  )
})

test('texts that nest deep are read, and give up after a hundred places', () => {
  const deep = '{"a":0,"a":'.repeat(5000)
  expect(findPlaces(`${deep}1${'}'.repeat(5000)}`)).toHaveLength(100)
  const same = '['.repeat(10_000) + `{${'"a":0,'.repeat(10_000)}"b":0}` + ']'.repeat(10_000)
  expect(findPlaces(same)).toHaveLength(1)
})
