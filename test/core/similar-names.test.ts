// Names that are suggested for one that is unknown.
import { expect, test } from 'vitest'
import { findSimilar, suggest } from '../../src/core/text/similar-names.ts'

const fields = ['prompt', 'style', 'seed', 'width', 'height', 'duration', 'constructor']
const models = ['b/image/poster/text-to-image', 'b/image/art/text-to-image', 'b/image/art/edit', 'b/video/motion/text']

test.each([
  ['promt', fields, ['prompt']],
  ['Widht', fields, ['width']],
  ['seeds', fields, ['seed']],
  ['dur', fields, ['duration']],
  ['prompt_text', fields, ['prompt']],
  ['x', fields, []],
  ['quality', fields, []],
  ['__proto__', fields, []],
  ['b/image/postr/text-to-image', models, ['b/image/poster/text-to-image']],
  ['art', models, ['b/image/art/edit', 'b/image/art/text-to-image']],
  ['arts', models, ['b/image/art/edit', 'b/image/art/text-to-image']],
  ['posters', models, ['b/image/poster/text-to-image']],
  ['cat', models, []],
  ['', models, []],
  ['b/image/art/edit'.padEnd(100_000, 'x'), models, []],
])('%j of %j', (name, known, similar) => {
  expect(findSimilar(name, known)).toEqual(similar)
})

test('at most three are named, the likeliest first', () => {
  const known = ['model-12', 'model-123', 'model-1', 'model-2', 'model-1234']
  expect(suggest('model-12', known)).toBe('did you mean "model-12", "model-123" or "model-1"?')
  expect([suggest('modl-1234', known), suggest('x', known)]).toEqual(['did you mean "model-1234" or "model-123"?', ''])
})
