import { planVariations } from '@mediagen/client/variations.ts'
// Which inputs a set of variations has.
import { expect, test } from 'vitest'

test('each combination of values has each seed, in the order of the fields', () => {
  const values = new Map([
    ['theme', ['dusk', 'noon']],
    ['size', ['a4', 'square']],
  ])
  const inputs = planVariations({ title: 'Fair', seed: 7 }, { seeds: 2, values }, 100)
  expect(inputs).toHaveLength(8)
  expect(inputs.slice(0, 3)).toEqual([
    { title: 'Fair', theme: 'dusk', size: 'a4', seed: 7 },
    { title: 'Fair', theme: 'dusk', size: 'a4', seed: 8 },
    { title: 'Fair', theme: 'dusk', size: 'square', seed: 7 },
  ])
})

test('without a seed the first one is given; one seed leaves the input as it is', () => {
  expect(planVariations({ prompt: 'x' }, { seeds: 2, values: new Map() }, 100)).toEqual([
    { prompt: 'x', seed: 100 },
    { prompt: 'x', seed: 101 },
  ])
  expect(planVariations({ prompt: 'x' }, { seeds: 1, values: new Map([['theme', []]]) }, 100)).toEqual([
    { prompt: 'x' },
  ])
})
