// Shapes that set a width and a height.
import { expect, test } from 'vitest'
import { fitShape } from '../../web/aspect-presets.ts'

const side = { min: 64, max: 2048, step: 1 }

test.each([
  [1, 1024 * 1024, [1024, 1024]],
  [16 / 9, 1024 * 1024, [1365, 768]],
  [9 / 16, 1024 * 1024, [768, 1365]],
])('a shape of %f has about as many pixels as before', (ratio, pixels, expected) => {
  expect(fitShape(ratio, pixels, side, side)).toEqual(expected)
})

test('a shape keeps to the bounds and steps of both sides', () => {
  expect(fitShape(16 / 9, 4_000_000, side, side)).toEqual([2048, 1152])
  expect(fitShape(9 / 16, 4_000_000, side, side)).toEqual([1152, 2048])
  expect(fitShape(3 / 2, 1_000_000, { ...side, step: 64 }, { ...side, step: 64 })).toEqual([1216, 832])
})
