// Prices: CEL over the input, in doubles, whole credits or an error. Engines, section Prices (P65).
import { describe, expect, test } from 'vitest'
import { compilePrice, PriceError } from '../src/pricing.ts'

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

test('a usage-billed price reads usage', () => {
  expect(price('ceil(usage.seconds) * 2', {}, { seconds: 3.2 })).toBe(8)
  expect(() => price('ceil(usage.seconds) * 2', {}, {})).toThrow(PriceError)
  expect(() => price('ceil(usage.seconds) * 2', {})).toThrow(PriceError)
})

test.each([2 ** 53, 1e16, 1e300, Number.MAX_VALUE])('usage of %s costs as much as a price can be', (seconds) => {
  expect(price('ceil(usage.seconds) * 2', {}, { seconds })).toBe(9_007_199_254_740_991)
})

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
  ['a sum of a text and a number', 'size + 1'],
])('%s is no price', (_what, expression) => {
  expect(() => price(expression)).toThrow(PriceError)
})

describe('an invalid price expression is refused when it is compiled', () => {
  test.each(['', '1 +', 'width *', '((1)', '[1, 2].map(x, x)', '{"a": 1}', 'process.exit()', 'a.b.c('])(
    '%s',
    (expression) => {
      expect(() => compilePrice(expression).evaluate({})).toThrow(PriceError)
    },
  )
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
