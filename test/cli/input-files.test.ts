// Files in inputs from the command line: refusals name the file and say how one is uploaded.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { Refused } from '@mediagen/client/client.ts'
import { mediaReferenceForm } from '@mediagen/media/reference.ts'
import { explainInput } from '@mediagen/terminal/input-fields.ts'
import { buildInput } from '@mediagen/terminal/input.ts'

const folder = mkdtempSync(join(tmpdir(), 'mediagen-input-'))
const notes = join(folder, 'notes.txt')
writeFileSync(notes, 'no picture')
afterAll(() => rmSync(folder, { recursive: true }))

function refuse(code: string, detail: string, errors: { pointer: string; detail: string }[] = []): Refused {
  return new Refused({ type: 'x', title: 'x', status: 400, code, detail, retryable: false, request_id: 'x', errors })
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
    await expect(buildInput({ set: [`image=@${notes}`] }, { upload })).rejects.toThrow(
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
