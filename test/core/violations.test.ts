// What a validator found, in words that a client can act on: every fault, by its JSON pointer (P135).
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { MediagenError } from '../../src/core/errors.ts'
import { boundViolations, describeViolations } from '../../src/core/violations.ts'
import { toViolations, toPointerToken } from '../../src/schema/violations.ts'

const schema = {
  type: 'object',
  additionalProperties: false,
  required: ['a/b', 'c'],
  properties: {
    'a/b': { type: 'string' },
    c: { type: 'integer', minimum: 1, maximum: 10 },
    many: { type: ['integer', 'string', 'null'] },
    maybe: { type: ['integer', 'null'] },
    word: { type: 'string', minLength: 1, maxLength: 3 },
    few: { type: 'array', minItems: 1, maxItems: 2 },
    step: { multipleOf: 2, exclusiveMinimum: 0 },
    d: { enum: ['x', 1, null] },
    e: { const: 'yes' },
    list: { type: 'array', items: { type: 'object', required: ['f'] } },
  },
}

function violationsOf(value: unknown, prefix = '/input') {
  const validate = new Ajv2020({ allErrors: true }).compile(schema)
  validate(value)
  return toViolations(validate.errors ?? [], prefix)
}

test('all faults are listed, not only the first', () => {
  const found = violationsOf({ c: 11, d: 'y', e: 'no', 'g~h': 1, list: [{ f: 1 }, {}] })
  expect(new Map(found.map(({ pointer, detail }) => [pointer, detail]))).toEqual(
    new Map([
      ['/input/a~1b', 'is required'],
      ['/input/c', 'must be at most 10'],
      ['/input/d', 'must be one of "x", 1, null'],
      ['/input/e', 'must be "yes"'],
      ['/input/g~0h', 'is not a known field'],
      ['/input/list/1/f', 'is required'],
    ]),
  )
})

test('a broken rule is named in plain words', () => {
  const tell = (value: object) => violationsOf({ 'a/b': 'x', c: 1, ...value }).map(({ detail }) => detail)
  expect(tell({ c: 0 })).toEqual(['must be at least 1'])
  expect(tell({ c: 1.5 })).toEqual(['must be a whole number'])
  expect(tell({ maybe: 1.5, many: true })).toEqual(['must be a whole number or text', 'must be a whole number'])
  expect(tell({ word: '' })).toEqual(['must not be empty'])
  expect(tell({ word: 'four' })).toEqual(['must have at most 3 characters'])
  expect(tell({ few: [] })).toEqual(['must have at least 1 item'])
  expect(tell({ few: [1, 2, 3] })).toEqual(['must have at most 2 items'])
  expect(tell({ step: 3 })).toEqual(['must be a multiple of 2'])
  expect(tell({ step: 0 })).toEqual(['must be more than 0'])
  expect(violationsOf([])).toEqual([{ pointer: '/input', detail: 'must be an object' }])
})

test('an unknown field comes with similar ones of its own object', () => {
  const inner = { additionalProperties: false, properties: { width: {}, height: {} } }
  const validate = new Ajv2020({ allErrors: true, verbose: true, strictTypes: false }).compile({
    additionalProperties: false,
    properties: { prompt: {}, size: { $ref: '#/$defs/size' } },
    $defs: { size: inner },
  })
  validate({ promt: 'x', size: { widht: 1, prompt: 2 } })
  expect(new Set(toViolations(validate.errors ?? []).map(({ pointer, detail }) => `${pointer} ${detail}`))).toEqual(
    new Set([
      '/promt is not a known field (did you mean "prompt"?)',
      '/size/widht is not a known field (did you mean "width"?)',
      '/size/prompt is not a known field',
    ]),
  )
})

test('one pointer and reason is listed once', () => {
  const error = { instancePath: '/c', keyword: 'minimum', params: { limit: 1 }, message: 'must be >= 1' }
  expect(toViolations([error, error])).toEqual([{ pointer: '/c', detail: 'must be at least 1' }])
})

describe('as a sentence', () => {
  test.each([
    [[], ''],
    [[{ pointer: '/a', detail: 'is required' }], '/a is required.'],
    [[{ pointer: '', detail: 'must be an object' }], 'The body must be an object.'],
    [[1, 2].map(() => ({ pointer: '/a', detail: 'is wrong' })), '/a is wrong, and 1 more problem.'],
    [[1, 2, 3].map(() => ({ pointer: '/a', detail: 'is wrong' })), '/a is wrong, and 2 more problems.'],
  ])('%j', (violations, sentence) => {
    expect(describeViolations(violations)).toBe(sentence)
  })
})

describe('an error lists a limited number of violations', () => {
  const list = (count: number) => Array.from({ length: count }, (_, i) => ({ pointer: `/${i}`, detail: 'is wrong' }))
  const listed = (count: number) =>
    boundViolations(new MediagenError('invalid_request', 'x', { violations: list(count) }), 3).details.violations

  test('all of them where there are no more', () => {
    expect(listed(3)).toEqual(list(3))
  })

  test('the first ones and how many others there are', () => {
    expect(listed(4)).toEqual([...list(3), { pointer: '', detail: 'and 1 more problem' }])
    expect(listed(20_003)).toEqual([...list(3), { pointer: '', detail: 'and 20000 more problems' }])
  })

  test('the name of a field is cut when it is no name any more, in the list and in the sentence', () => {
    const violations = [{ pointer: `/${'x'.repeat(100_000)}`, detail: 'is wrong' }]
    const bound = boundViolations(new MediagenError('invalid_request', 'x', { violations }), 3)
    expect(bound.details.violations?.[0]?.pointer).toHaveLength(1001)
    expect(describeViolations(violations).length).toBeLessThan(400)
  })
})

test('a token of a JSON pointer escapes ~ and /', () => {
  expect(toPointerToken('a/b~c~1')).toBe('a~1b~0c~01')
})

test('of thousands of unknown names, only the first are compared with the known ones', () => {
  const validate = new Ajv2020({ allErrors: true, verbose: true }).compile({
    type: 'object',
    properties: { prompt: {} },
    additionalProperties: false,
  })
  validate(Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`promp${index}`, 1])))
  const violations = toViolations(validate.errors ?? [])
  expect(violations).toHaveLength(5000)
  expect(violations.filter(({ detail }) => detail.includes('did you mean'))).toHaveLength(20)
})
