// Requests of OpenAI's interface as inputs of models (P251, P252).
import type { JsonObject } from '@mediagen/engine/engine.ts'
import { describe, expect, test } from 'vitest'
import { MediagenError } from '../../src/core/errors.ts'
import { type ImageBody, nameFields, toImageOrder } from '../../src/openai/images/image-request.ts'

function modelWith(...names: (string | [string, JsonObject])[]) {
  const properties = Object.fromEntries(names.map((name) => (typeof name === 'string' ? [name, {}] : name)))
  return { id: 'a/b', inputSchema: { type: 'object', properties }, openaiFields: {} }
}
const sized = modelWith('prompt', 'width', 'height', 'seed')

/** The fields that a refusal names. */
function refusedFields(body: ImageBody, model = sized): string[] {
  try {
    toImageOrder(body, model)
  } catch (error) {
    expect(error).toBeInstanceOf(MediagenError)
    return (error as MediagenError).details.violations?.map(({ pointer }) => pointer) ?? []
  }
  return []
}

test('fields that the model has pass as they are', () => {
  const model = modelWith('prompt', 'seed', 'quality', 'size')
  const fields = { prompt: 'x', seed: 7, quality: 'high', size: '512x512' }
  expect(toImageOrder({ model: 'm', ...fields }, model)).toMatchObject({ input: fields, count: 1 })
})

test('a size is width and height where the model has both', () => {
  expect(toImageOrder({ prompt: 'x', size: '512x768' }, sized).input).toEqual({ prompt: 'x', width: 512, height: 768 })
  expect(toImageOrder({ prompt: 'x', size: 'auto' }, sized).input).toEqual({ prompt: 'x' })
  expect(refusedFields({ prompt: 'x', size: '512x768' }, modelWith('prompt', 'width'))).toEqual(['/size'])
})

test.each(['512', '512×512', '0x', 'x512', '-1x5', '512x512x3', 'large', ''])('the size "%s" is refused', (size) => {
  expect(refusedFields({ prompt: 'x', size })).toEqual(['/size'])
})

test.each([
  { quality: 'auto' },
  { quality: 'standard' },
  { style: 'vivid' },
  { background: 'auto' },
  { moderation: 'auto' },
  { output_format: 'png' },
  { output_compression: 100 },
  { partial_images: 0 },
  { stream: false },
  { user: 'anybody' },
  { response_format: 'url' as const },
  { max_credits: 5 },
  { style: null, quality: null, seed: null, n: null, size: null },
])('%o asks the model for nothing', (fields) => {
  expect(toImageOrder({ prompt: 'x', ...fields }, sized)).toMatchObject({ input: { prompt: 'x' }, count: 1 })
})

test('a default that is no option of a choice is left out; anything else is for the schema', () => {
  const model = modelWith('prompt', ['quality', { enum: ['draft', 'fine'] }], ['size', { enum: ['auto', 'big'] }])
  const order = (fields: ImageBody) => toImageOrder({ prompt: 'x', ...fields }, model).input
  expect(order({ quality: 'auto', size: 'auto' })).toEqual({ prompt: 'x', size: 'auto' })
  expect(order({ quality: 'fine', size: '1x1' })).toEqual({ prompt: 'x', quality: 'fine', size: '1x1' })
})

test('all others are refused by name, together', () => {
  const fields: ImageBody = {
    steps: 30,
    quality: 'high',
    stream: true,
    'a/b': 1,
    constructor: 'x',
    output_format: 'webp',
  }
  const names = ['/steps', '/quality', '/stream', '/a~1b', '/constructor', '/output_format']
  expect(refusedFields({ prompt: 'x', ...fields })).toEqual(names)
})

describe('the number of pictures', () => {
  test('is that of jobs', () => expect(toImageOrder({ prompt: 'x', n: 3 }, sized)).toMatchObject({ count: 3 }))
  test('is for the model, if that has such a field', () => {
    const model = modelWith('prompt', 'n')
    expect(toImageOrder({ prompt: 'x', n: 3 }, model)).toMatchObject({ input: { prompt: 'x', n: 3 }, count: 1 })
    expect(toImageOrder({ prompt: 'x' }, model)).toMatchObject({ input: { prompt: 'x' }, count: 1 })
  })
})

test('a refusal of the input names the fields of the request', () => {
  const violations = [{ pointer: '/input/prompt', detail: 'is required' }]
  const words = 'The input breaks the schema of a/b. /input/prompt is required.'
  const named = nameFields(new MediagenError('invalid_input', words, { violations }))
  expect(named.details.violations).toEqual([{ pointer: '/prompt', detail: 'is required' }])
  expect(named.message).toBe('The input breaks the schema of a/b. /prompt is required.')
})

describe('what the catalog says about a field', () => {
  const model = {
    ...modelWith('text', ['ratio', { enum: ['1:1', '3:2'] }], 'steps', ['quality', { enum: ['draft'] }], 'seed'),
    openaiFields: {
      prompt: 'text',
      size: { auto: { ratio: '1:1' }, '1536x1024': { ratio: '3:2', steps: 9 } },
      quality: { high: { steps: 40 }, standard: {} },
      background: 'ratio',
    },
  }
  const order = (fields: ImageBody) => toImageOrder({ prompt: 'x', ...fields }, model).input

  test('goes before what is usual: names, and values that set several fields or none (P274)', () => {
    expect(order({})).toEqual({ text: 'x' })
    expect(order({ size: '1536x1024' })).toEqual({ text: 'x', ratio: '3:2', steps: 9 })
    expect(order({ size: 'auto', quality: 'standard' })).toEqual({ text: 'x', ratio: '1:1' })
    expect(order({ quality: 'high' })).toEqual({ text: 'x', steps: 40 })
  })

  test('leaves values of the model itself and defaults as they are', () => {
    expect(order({ quality: 'draft' })).toEqual({ text: 'x', quality: 'draft' })
    expect(order({ quality: 'auto', background: 'auto' })).toEqual({ text: 'x' })
  })

  test('names what it has when it has not what was sent', () => {
    expect(() => order({ size: '16x16' })).toThrow('"auto", "1536x1024"')
    expect(() => order({ quality: 'low' })).toThrow('"draft", "high", "standard"')
    expect(refusedFields({ prompt: 'x', size: 'toString', quality: 'constructor' }, model)).toEqual([
      '/size',
      '/quality',
    ])
  })

  test('leaves a size to width and height where it has none for it', () => {
    const wide = { ...sized, openaiFields: { size: { '512x512': { seed: 1 } } } }
    expect(toImageOrder({ prompt: 'x', size: '512x512' }, wide).input).toEqual({ prompt: 'x', seed: 1 })
    expect(toImageOrder({ prompt: 'x', size: '64x64' }, wide).input).toEqual({ prompt: 'x', width: 64, height: 64 })
  })
})

test('two fields that set the same are refused', () => {
  const model = { ...modelWith('text', 'width', 'height'), openaiFields: { prompt: 'text' } }
  expect(refusedFields({ prompt: 'x', text: 'y' }, model)).toEqual(['/text'])
  expect(refusedFields({ prompt: 'x', width: 1, size: '64x64' }, model)).toEqual(['/size'])
})

test("a refusal of the input has the request's names of fields that the catalog maps", () => {
  const openaiFields = { prompt: 'text', quality: { high: { steps: 40 } } }
  const model = { ...modelWith('text', 'steps', 'width', 'height'), openaiFields }
  const pointersOf = (body: ImageBody) => {
    const violations = ['text', 'steps', 'width'].map((name) => ({ pointer: `/input/${name}`, detail: 'is wrong' }))
    const refusal = new MediagenError('invalid_input', 'No.', { violations })
    return nameFields(refusal, toImageOrder(body, model).names).details.violations?.map(({ pointer }) => pointer)
  }
  expect(pointersOf({ quality: 'high', size: '1x1' })).toEqual(['/prompt', '/quality', '/width'])
  expect(pointersOf({ steps: 40 })).toEqual(['/prompt', '/steps', '/width'])
})
