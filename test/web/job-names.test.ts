// What the console calls a generation.
import { expect, test } from 'vitest'
import type { ModelRecord } from '../../web/records.ts'
import { nameJob } from '../../web/session.ts'

const models = new Map([['test/image', { id: 'test/image', name: 'Picture' } as ModelRecord]])

test.each([
  { input: { prompt: 'a red fox' }, model: 'test/image', name: 'a red fox' },
  { input: null, model: 'test/image', name: 'Picture' },
  { input: null, model: 'gone/image', name: 'gone/image' },
])('a generation by $model is called “$name”', ({ input, model, name }) => {
  expect(nameJob({ input, model }, models)).toBe(name)
})
