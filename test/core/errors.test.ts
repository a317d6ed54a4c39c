// What an error carries besides its words.
import { expect, test } from 'vitest'
import { MediagenError } from '../../src/core/errors.ts'

test('a bug carries its stack, a refusal does not: a flood of refusals would pay for it', () => {
  const here = /errors\.test\.ts/
  expect(new MediagenError('internal', 'A bug.').stack).toMatch(here)
  expect(new MediagenError('rate_limited', 'Too fast.').stack).not.toMatch(here)
  // What is thrown next has its stack again.
  expect(new Error('Something else.').stack).toMatch(here)
})
