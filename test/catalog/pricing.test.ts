// Prices: CEL over the input, in exact numbers, whole credits or an error. Engines, section Prices (P65, P191).
import { describe, expect, test } from 'vitest'
import { compilePrice, PriceError } from '../../src/catalog/prices/pricing.ts'

const price = (expression: string, input: object = {}, usage?: Record<string, number>): number =>
  compilePrice(expression).evaluate(input as never, usage)

test.each([
  ['1', {}, 1],
  ['0', {}, 0],
  ['2 + 3 * 4', {}, 14],
  ['1 + width / 2', { width: 5 }, undefined],
  ['ceil(1 + width / 2)', { width: 5 }, 4],
  ['1 + ceil(width * height / 1000000.0 / 2.0)', { width: 1024, height: 1024 }, 2],
  ['ceil(width * height / 1000000 / 2)', { width: 2000, height: 1000 }, 1],
  ['ceil(width * height / 1000000 / 2)', { width: 2001, height: 1000 }, 2],
  ['floor(width / 100)', { width: 299 }, 2],
  ['min(width, 10) + max(width, 10)', { width: 7 }, 17],
  ['size(prompt)', { prompt: 'four' }, 4],
  ['size(prompt)', { prompt: '🦊🦊' }, 2],
  ['size(images) * 2', { images: ['a', 'b', 'c'] }, 6],
  ['hd ? 5 : 2', { hd: true }, 5],
  ['hd ? 5 : 2', { hd: false }, 2],
  ['quality == "high" ? 3 : 1', { quality: 'high' }, 3],
  ['width >= 1024 && height >= 1024 ? 4 : 1', { width: 1024, height: 1023 }, 1],
  ['quality in ["high", "best"] ? 3 : 1', { quality: 'best' }, 3],
  ['9007199254740991', {}, 9_007_199_254_740_991],
])('%s of %j costs %s', (expression, input, credits) => {
  if (credits === undefined) expect(() => price(expression, input)).toThrow(/not a whole number/)
  else expect(price(expression, input)).toBe(credits)
})

test('whole-number literals are numbers like any other: no integer division', () => {
  expect(price('ceil(width / 1000)', { width: 1 })).toBe(1)
  expect(price('ceil(7 / 2)')).toBe(4)
})

test.each([
  [
    'ceil(usage.input_tokens * 0.005 + usage.output_tokens * 0.03)',
    { usage: { input_tokens: 970, output_tokens: 5 } },
    5,
  ],
  ['ceil(minutes * 1.1)', { minutes: 50 }, 55],
  ['floor(amount * 100)', { amount: 0.29 }, 29],
  ['0.1 + 0.2 == 0.3 ? 1 : 2', {}, 1],
  ['amount <= 0.3 ? 1 : 2', { amount: 0.1 + 0.2 }, 2],
  ['amount * 10', { amount: 1e-1 }, 1],
  ['ceil(amount * 10000000)', { amount: 1e-7 }, 1],
  ['1 / 3 * 3', {}, 1],
  ['ceil((size - 0.7) / 0.1)', { size: 1 }, 3],
  ['ceil(-0.5 + 1.5) + floor(-0.5) + ceil(-0.5) + 1', {}, 1],
  ['round(2.5) + round(0.49) + round(-0.5) + 1', {}, 3],
  ['min(0.3, 0.1 * 3, 1) * 10 + max(0.7, 0.1 * 7) * 10', {}, 10],
  ['(0.7 % 0.1) + 7 % 4 + (-7 % 4) + 1', {}, 1],
  ['(1000000000000000.00001 - 1000000000000000) * 100000', {}, 1],
  ['1e300 * 1e-300 * 0x10 + 5u', {}, 21],
  ['.5 + 5.0e-1', {}, 1],
])('%s of %j is computed as written: %s', (expression, input, credits) => {
  expect(price(expression, input)).toBe(credits)
})

test.each([
  ['s.size() * 2', { s: 'four' }, 8],
  ['size(s) + s.size() + images.size()', { s: '🦊', images: ['a', 'b'] }, 4],
  ['int(n)', { n: 3 }, 3],
  ['int(n) * 2 + 0.5 * 2', { n: 3.9 }, 7],
  ['int(duration) * 10', { duration: '5' }, 50],
  ['double(scale) * 10', { scale: '0.3' }, 3],
  ['s.size() > 3.5 && s.size() == 4.0 ? 1 : 2', { s: 'four' }, 1],
  ['images[0].size() + [1, 2][1]', { images: ['a'] }, 3],
  ['n in [1, 2.0, 3] ? 1 : 2', { n: 2 }, 1],
  ['string(n) + string(n / 4) == "20.5" ? 1 : 2', { n: 2 }, 1],
  ['s.startsWith("f") && s.endsWith("r") && s.contains("ou") && s.matches("^f.*r$") ? 1 : 2', { s: 'four' }, 1],
  ['has(usage.tokens) ? 1 : 2', { usage: { tokens: 1 } }, 1],
  ['has(usage.constructor) || "constructor" in usage ? 1 : 2', { usage: {} }, 2],
  ['size.width * size["height"]', { size: { width: 2, height: 3 } }, 6],
  ['1 / 0 > 1 || true ? 1 : 2', {}, 1],
  ['size + 1 > 1 && false ? 1 : 2', {}, 2],
  [
    'first + second == "ab" && [1] + [2] == [1, 2.0] && "a" < "b" && !(null == 0) ? 1 : 2',
    { first: 'a', second: 'b' },
    1,
  ],
])('%s of %j mixes whole numbers and others: %s', (expression, input, credits) => {
  expect(price(expression, input)).toBe(credits)
})

test('a number may not grow without end', () => {
  expect(() => price(Array.from({ length: 9 }, () => '1e300').join(' * '))).toThrow('too many digits')
  expect(() => price('n / 3', { n: Number.MIN_VALUE })).toThrow(/ceil\(\) rounds up/)
  expect(price('ceil(n / 3)', { n: Number.MIN_VALUE })).toBe(1)
})

test('a usage-billed price reads usage', () => {
  expect(price('ceil(usage.seconds) * 2', {}, { seconds: 3.2 })).toBe(8)
  expect(() => price('ceil(usage.seconds) * 2', {}, {})).toThrow(PriceError)
  expect(() => price('ceil(usage.seconds) * 2', {})).toThrow(PriceError)
})

test.each([2 ** 53, 1e16, 1e300, Number.MAX_VALUE, Infinity])(
  'usage of %s costs as much as a price can be',
  (seconds) => {
    expect(price('ceil(usage.seconds) * 2', {}, { seconds })).toBe(9_007_199_254_740_991)
  },
)

test.each([Number.NaN, -1, -1e300])('usage of %s has no price', (seconds) => {
  expect(() => price('ceil(usage.seconds) * 2', {}, { seconds })).toThrow(PriceError)
})

test.each([
  ['a fraction', '1.5'],
  ['a negative number', '-1'],
  ['more than can be written exactly', '9007199254740992'],
  ['a text', '"five"'],
  ['a truth', 'true'],
  ['nothing', 'null'],
  ['a list', '[1]'],
  ['a division by zero', '1 / 0'],
  ['a missing field', 'width'],
  ['a sum with a missing field', 'size + 1'],
  ['a sum of a text and a number', '"5" + 1'],
  ['a text that is no number', 'int("5s")'],
  ['a place that a list has not', '[1][1]'],
  ['a field of every object', 'constructor'],
  ['a choice by a number', '1 ? 2 : 3'],
])('%s is no price', (_what, expression) => {
  expect(() => price(expression)).toThrow(PriceError)
})

describe('an invalid price expression is refused when it is compiled', () => {
  test.each([
    '',
    '1 +',
    'width *',
    '((1)',
    '[1, 2].map(x, x)',
    '{"a": 1}',
    'process.exit()',
    'a.b.c(',
    'sqrt(4)',
    'ceil()',
    'min(1)',
    '(1).ceil()',
    'now()',
  ])('%s', (expression) => {
    expect(() => compilePrice(expression)).toThrow(PriceError)
  })
})

test('a price names the variables that it reads', () => {
  const { variables } = compilePrice('1 + ceil(width * max(height, 2)) + (hd ? size(images) : usage.seconds)')
  expect(variables).toEqual(new Set(['width', 'height', 'hd', 'images', 'usage']))
})

test('one price after another is that of its own input, however many there were', () => {
  const { evaluate } = compilePrice('wide ? width * 2 : width')
  const inputs = Array.from({ length: 300 }, (_, index) => ({ width: index % 150, wide: index % 4 < 2 }))
  for (const input of [...inputs, ...inputs]) expect(evaluate(input)).toBe(input.wide ? input.width * 2 : input.width)
  expect(() => evaluate({ width: 0.5, wide: false })).toThrow(PriceError)
  expect(() => evaluate({ width: 0.5, wide: false })).toThrow(PriceError)
  expect(evaluate({ width: 0.5, wide: true })).toBe(1)
})
