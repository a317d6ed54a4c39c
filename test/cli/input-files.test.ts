// Files in inputs from the command line: refusals name the file and say how one is uploaded.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ModelDetail, Refused } from '@mediagen/client/client.ts'
import { afterAll, expect, test, vi } from 'vitest'
import { explainInput } from '../../src/cli/user/input-fields.ts'
import { buildInput } from '../../src/cli/user/input.ts'
import { mediaReferenceForm } from '../../src/files/media/reference.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-input-'))
const notes = join(folder, 'notes.txt')
writeFileSync(notes, 'no picture')
afterAll(() => rmSync(folder, { recursive: true }))

function refuse(code: string, detail: string, errors: { pointer: string; detail: string }[] = []): Refused {
  return new Refused({ type: 'x', title: 'x', status: 400, code, detail, retryable: false, request_id: 'x', errors })
}

const neverAsked = (): never => {
  throw new Error('nothing to ask')
}

test('a file that is not accepted is named; what is not about the file is not', async () => {
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  for (const [code, words] of [
    ['invalid_media', `${notes} cannot be used: It is not a picture.`],
    ['invalid_api_key', 'It is not a picture.'],
  ] as const) {
    const upload = async (): Promise<never> => {
      throw refuse(code, 'It is not a picture.')
    }
    await expect(buildInput('m', { set: [`image=@${notes}`] }, { upload, model: neverAsked })).rejects.toThrow(
      expect.objectContaining({ message: words }),
    )
  }
  vi.restoreAllMocks()
})

test('a file that is named without @ is refused with a word about that', () => {
  const refusal = refuse('invalid_input', 'x', [{ pointer: '/input/image', detail: mediaReferenceForm }])
  expect(() => explainInput(refusal, 'b/edit', { image: 'notes.txt' }, { set: ['image=notes.txt'] })).toThrow(
    `The input does not fit b/edit:\n  --set image=notes.txt ${mediaReferenceForm}; @FILE uploads a file\n`,
  )
})

const fields = {
  text: { type: 'string' },
  count: { type: 'integer' },
  ratio: { type: 'number' },
  flag: { type: 'boolean' },
  either: { type: ['string', 'integer'] },
  maybe: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  size: { enum: ['1', '2', 3] },
  named: { $ref: '#/$defs/name' },
  anything: {},
  texts: { type: 'array', items: { type: 'string' } },
  counts: { type: 'array', items: { type: 'integer' } },
  group: { type: 'object', properties: { text: { type: 'string' }, count: { type: 'integer' } } },
  map: { type: 'object', additionalProperties: { type: 'string' } },
}

test.each([
  ['text=123', { text: '123' }],
  ['text=1e3', { text: '1e3' }],
  ['text=007', { text: '007' }],
  ['text=true', { text: 'true' }],
  ['text=null', { text: 'null' }],
  ['text=[1, 2]', { text: '[1, 2]' }],
  ['text={"a":1}', { text: '{"a":1}' }],
  ['text=6687881544318117707', { text: '6687881544318117707' }],
  ['text="quoted"', { text: 'quoted' }],
  ['count=1e3', { count: 1000 }],
  ['count=true', { count: true }],
  ['ratio=0.5', { ratio: 0.5 }],
  ['flag=true', { flag: true }],
  ['either=5', { either: 5 }],
  ['either=0.5', { either: '0.5' }],
  ['maybe=null', { maybe: null }],
  ['maybe=1', { maybe: '1' }],
  ['size=1', { size: '1' }],
  ['size=3', { size: 3 }],
  ['named=42', { named: '42' }],
  ['anything=42', { anything: 42 }],
  ['unknown=42', { unknown: 42 }],
  ['texts+=42', { texts: ['42'] }],
  ['texts=["a"]', { texts: ['a'] }],
  ['counts+=42', { counts: [42] }],
  ['group.text=42', { group: { text: '42' } }],
  ['group.count=42', { group: { count: 42 } }],
  ['map.any=42', { map: { any: '42' } }],
])('--set %s: the schema decides what it is', async (setting, input) => {
  const schema = { type: 'object', properties: fields, $defs: { name: { type: 'string' } } }
  const openapi = { paths: { '/': { post: { requestBody: { content: { 'application/json': { schema } } } } } } }
  const client = { upload: neverAsked, model: async () => ({ openapi }) as unknown as ModelDetail }
  expect(await buildInput('m', { set: [setting] }, client)).toEqual(input)
})
