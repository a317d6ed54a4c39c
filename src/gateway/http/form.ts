// A form with one file (multipart/form-data), read as it arrives.
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { BusboyHeaders, BusboyInstance } from '@fastify/busboy'
import { MediagenError } from '../../core/errors.ts'
import { cutText } from '../../core/log-text.ts'

const partName = 'file'
// More than one of each is refused by name, so the bounds only need to detect that.
const limits = {
  files: 2,
  fields: 1,
  parts: 3,
  fieldNameSize: 100,
  fieldSize: 100,
  headerPairs: 20,
  headerSize: 16_384,
}

/** Whether a content type is that of a form. */
export function isForm(contentType: string | undefined): boolean {
  return /^multipart\/form-data *(;|$)/i.test(contentType ?? '')
}

/**
 * The bytes of the one file of a form: the part `file`.
 * @throws MediagenError `invalid_request` if there is no file, anything else, or no form
 */
export async function* readForm(headers: IncomingHttpHeaders, body: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const form = await openForm(headers)
  let problem: MediagenError | null = null
  let files = 0
  let chunks: Buffer[] = []
  const refuse = (words: string, cause?: unknown) => {
    problem ??= new MediagenError('invalid_request', cutText(words), {}, { cause })
  }
  form.on('error', (error) => refuse(`The body is not a multipart form: ${(error as Error).message}.`, error))
  form.on('field', (name) =>
    refuse(
      name === partName
        ? 'The part file of the form has no file name: send it as a file.'
        : `The form has an unknown part: ${name}.`,
    ),
  )
  form.on('file', (name, stream) => {
    files += 1
    if (name !== partName) refuse(`The form has an unknown file: ${name}. Send the file as the part named file.`)
    if (files > 1) refuse('The form has more than one file; send one at a time.')
    // Keep reading in every case: a form whose file is not read never ends.
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('error', (error) => refuse('The form broke off before it was whole.', error))
  })

  function* take(): Iterable<Buffer> {
    if (problem) throw problem
    const taken = chunks
    chunks = []
    yield* taken
  }

  // One chunk of the body at a time: its content is passed on before the next is read.
  for await (const piece of body) {
    await new Promise<void>((resolve) => form.write(piece, () => resolve()))
    yield* take()
  }
  const finished = once(form, 'finish').catch(() => {})
  form.end()
  await finished
  if (files === 0) refuse('The form has no file: send it as the part named file.')
  yield* take()
}

/** Loads the parser with the first form. */
async function openForm(headers: IncomingHttpHeaders): Promise<BusboyInstance> {
  const { Busboy } = await import('@fastify/busboy')
  try {
    return new Busboy({ headers: headers as BusboyHeaders, limits })
  } catch (error) {
    throw new MediagenError(
      'invalid_request',
      cutText(`The body is not a multipart form: ${(error as Error).message}.`),
    )
  }
}
