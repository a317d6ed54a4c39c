// Every error in the form of OpenAI's interface (P248).
import { expect, test } from 'vitest'
import { MediagenError } from '../../../src/core/errors.ts'
import { toOpenaiError } from '../../../src/gateway/problems/openai-error.ts'

test.each([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [402, 'insufficient_quota'],
  [403, 'permission_error'],
  [404, 'invalid_request_error'],
  [409, 'invalid_request_error'],
  [429, 'rate_limit_error'],
  [500, 'server_error'],
  [503, 'server_error'],
])('the type follows the status %i', (status, type) => {
  const error = toOpenaiError(new MediagenError('internal', 'Words.'), status)
  expect(error).toEqual({ message: 'Words.', type, param: null, code: 'internal' })
})

test.each([
  ['/input/width', 'input.width'],
  ['/input/images/0', 'input.images.0'],
  ['/a~1b~0c', 'a/b~c'],
  ['?limit', 'limit'],
  ['Retain-For', 'Retain-For'],
  ['', null],
])('the first violation, at "%s", is the param %s', (pointer, param) => {
  const violations = [
    { pointer, detail: 'is wrong' },
    { pointer: '/other', detail: 'is wrong' },
  ]
  expect(toOpenaiError(new MediagenError('invalid_request', 'Words.', { violations }), 400).param).toBe(param)
})
