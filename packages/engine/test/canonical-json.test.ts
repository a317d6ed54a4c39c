// The identity of an input: RFC 8785 and what has no canonical form (P10).
import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { digestParts, maxInputDepth, toCanonicalJson } from '../src/canonical-json.ts'
import type { JsonObject, JsonValue } from '../src/engine.ts'

const canonical = (json: string): string => toCanonicalJson(JSON.parse(json) as JsonObject) as string

describe('the samples of RFC 8785', () => {
  test('section 3.2.2: numbers, texts and literals', () => {
    const sample = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`
    expect(canonical(sample)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    )
  })

  test('section 3.2.3: keys are sorted by their UTF-16 code units', () => {
    const sample = String.raw`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`
    expect(Object.keys(JSON.parse(canonical(sample)))[0]).toBe('1')
    expect([...canonical(sample).matchAll(/:(\d)/g)].map(([, digit]) => digit).join('')).toBe('2467153')
  })

  test.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('appendix B: the double %s is written %s', (bits, text) => {
    expect(toCanonicalJson({ n: Buffer.from(bits, 'hex').readDoubleBE() })).toBe(`{"n":${text}}`)
  })
})

describe('two ways to write one value have one form', () => {
  test.each([
    ['the order of keys', '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'],
    ['white space', '{"a":[1,2]}', ' {\n"a" : [ 1 ,\t2 ] }'],
    ['1.0 equals 1', '{"a":1}', '{"a":1.0}'],
    ['100 equals 1e2', '{"a":100}', '{"a":1e2}'],
    ['-0 equals 0', '{"a":0}', '{"a":-0}'],
    ['escapes', '{"a":"é/"}', String.raw`{"a":"\u00e9\/"}`],
  ])('%s', (_what, one, other) => {
    expect(canonical(one)).toBe(canonical(other))
  })

  test('any object, whatever the order of its keys', () => {
    const shuffle = (value: JsonValue): JsonValue => {
      if (Array.isArray(value)) return value.map(shuffle)
      if (value === null || typeof value !== 'object') return value
      const reversed = Object.entries(value).toReversed()
      return Object.fromEntries(reversed.map(([name, inner]) => [name, shuffle(inner)]))
    }
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), (object) => {
        const value = JSON.parse(JSON.stringify(object)) as JsonObject
        expect(toCanonicalJson(shuffle(value) as JsonObject)).toBe(toCanonicalJson(value))
        expect(JSON.parse(toCanonicalJson(value) as string)).toEqual(value)
      }),
    )
  })
})

describe('what has no canonical form', () => {
  const nest = (levels: number): JsonObject => {
    let value: JsonObject = {}
    for (let i = 1; i < levels; i++) value = { a: value }
    return value
  }

  test('50 levels have one, 51 have not', () => {
    expect(maxInputDepth).toBe(50)
    expect(toCanonicalJson(nest(50))).toBe(JSON.stringify(nest(50)))
    expect(toCanonicalJson(nest(51))).toMatchObject({ detail: expect.stringContaining('50 levels') })
  })

  test('lists are levels too', () => {
    let value: JsonValue = []
    for (let i = 2; i < 50; i++) value = [value]
    expect(toCanonicalJson({ a: value })).toBe(JSON.stringify({ a: value }))
    expect(toCanonicalJson({ a: [value] })).toMatchObject({ pointer: `/input/a${'/0'.repeat(49)}` })
  })

  test('endless nesting does not overflow the stack', () => {
    const endless = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000)) as JsonValue
    expect(toCanonicalJson({ a: endless })).toMatchObject({ detail: expect.stringContaining('50 levels') })
  })

  test.each([
    ['a lone high surrogate', { a: ['x', '\ud800'] }, '/input/a/1'],
    ['a lone low surrogate', { a: { b: 'x\udc00y' } }, '/input/a/b'],
    ['a pair the wrong way round', { a: '\udc00\ud800' }, '/input/a'],
    ['a key that is not Unicode', { a: { '\ud800': 1 } }, '/input/a'],
    ['a number beyond all doubles', { 'a/b': [Number.POSITIVE_INFINITY] }, '/input/a~1b/0'],
  ])('%s, and the pointer says where', (_what, value, pointer) => {
    expect(toCanonicalJson(value as JsonObject)).toMatchObject({ pointer })
  })

  test.each([{ a: '\ud83e\udd8a' }, { '\ud83e\udd8a': null }, {}, { a: [true, 0.1, 'x', null] }])(
    '%j has one',
    (value) => {
      expect(toCanonicalJson(value as JsonObject)).toBe(JSON.stringify(value))
    },
  )
})

describe('digests', () => {
  test('are SHA-256 over the parts, each behind its length', () => {
    expect(digestParts('ab', 'c')).toBe(createHash('sha256').update('2:ab1:c').digest('hex'))
  })

  test('no two lists of parts share one', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.string()), (one, other) => {
        const same = one.length === other.length && one.every((part, index) => part === other[index])
        expect(digestParts(...one) === digestParts(...other)).toBe(same)
      }),
    )
    expect(digestParts('a', 'b')).not.toBe(digestParts('ab'))
    expect(digestParts('a', '')).not.toBe(digestParts('', 'a'))
  })
})
