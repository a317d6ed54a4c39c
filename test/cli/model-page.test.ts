// What `mediagen models MODEL` says of a model whose schema names and explains its options.
import { expect, test } from 'vitest'
import { describeModel } from '../../src/cli/user/model-page.ts'

const voice = {
  enum: ['slt', 'clara', 'kal', 'constructor'],
  description: 'Who reads.',
  'x-enum-titles': { slt: 'Sarah', clara: 'Clara', kal: 'Kal' },
  'x-enum-descriptions': { slt: 'A woman, American.', clara: 'A woman, lower.' },
}
const schema = { type: 'object', properties: { voice } }
const model = {
  id: 'a/b',
  name: 'Speech',
  description: 'Reads text.\nUse it for voice-overs.',
  pricing: { billing: 'fixed', summary: '1 credit', from_credits: 1 },
  unready_reason: null,
  openapi: { paths: { '/a/b': { post: { requestBody: { content: { 'application/json': { schema } } } } } } },
}

test('options have their titles where these say more than their names, and their explanations', () => {
  const page = describeModel(model as never, 80)
  expect(page).toContain('Reads text.\nUse it for voice-overs.\n')
  expect(page.split('\n').filter((line) => line.includes('- '))).toEqual([
    '         - slt: Sarah. A woman, American.',
    '         - clara: A woman, lower.',
  ])
})

test('no text of a server ends its line or acts on the terminal', () => {
  const forged = 'a\u001B[2J\nPrice: free'
  const field = { type: 'string', enum: [forged], default: forged }
  const properties = { [forged]: field }
  const schema = { type: 'object', properties, required: [forged] }
  const openapi = { paths: { '/a/b': { post: { requestBody: { content: { 'application/json': { schema } } } } } } }
  const page = describeModel({ ...model, id: forged, unready_reason: forged, openapi } as never, 80)
  expect(page.split('\n').filter((line) => line.startsWith('Price: '))).toEqual(['Price: 1 credit'])
})
