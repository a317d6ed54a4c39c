// Examples of prices: a usual input, then one change at a time, each at the price that a quote has.
import { expect, test } from 'vitest'
import { createPriceExamples } from '../../src/catalog/prices/price-examples.ts'
import { compilePrice } from '../../src/catalog/prices/pricing.ts'

const properties = {
  width: { type: 'integer', title: 'Width', maximum: 2000, default: 1000 },
  height: { type: 'integer', maximum: 1000, default: 1000 },
  quality: { enum: ['low', 'high'], default: 'low', title: 'Quality' },
  music: { type: 'boolean', title: 'Music', default: false },
  text: { type: 'string', title: 'Text', maxLength: 400 },
  images: { type: 'array', title: 'Pictures', minItems: 2, maxItems: 8 },
}
const list = (credits: string, actual?: string) =>
  createPriceExamples(properties, compilePrice(credits), actual === undefined ? null : compilePrice(actual))

test('each field that the price reads is changed alone, and only what changes the price is listed', () => {
  expect(list('width * height / 1000000 + (quality == "high" ? 2 : 0) + (music ? 1 : 0)').quoted).toEqual([
    { of: 'Width 1000, height 1000, Quality low, Music off', credits: 1 },
    { of: 'Width 2000', credits: 2 },
    { of: 'Quality high', credits: 3 },
    { of: 'Music on', credits: 2 },
  ])
})

test('texts and lists are as long as people write them, within their bounds', () => {
  expect(list('ceil(size(text) / 100) + size(images)').quoted).toEqual([
    { of: 'Text of 100 characters, Pictures: 2 items', credits: 3 },
    { of: 'Text of 400 characters', credits: 6 },
    { of: 'Pictures: 8 items', credits: 9 },
  ])
})

test('usage is in amounts that people can picture; what has no price is left out', () => {
  expect(list('10', 'ceil(usage.seconds / 15)')).toEqual({
    quoted: [],
    used: [
      { of: '5 seconds', credits: 1 },
      { of: '15 seconds', credits: 1 },
      { of: '60 seconds', credits: 4 },
    ],
  })
  expect(list('width / 2000', 'ceil(usage.cost_usd * 100)')).toEqual({
    quoted: [],
    used: [
      { of: 'a cost of 0.01 US dollars', credits: 1 },
      { of: 'a cost of 0.1 US dollars', credits: 10 },
      { of: 'a cost of 1 US dollars', credits: 100 },
    ],
  })
  expect(list('3')).toEqual({ quoted: [], used: [] })
})
