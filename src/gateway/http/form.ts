// Forms (multipart/form-data), read as they arrive.
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { BusboyConfig, BusboyHeaders, BusboyInstance } from '@fastify/busboy'
import { MediagenError } from '../../core/errors.ts'
import { cutText } from '../../core/text/log-text.ts'

const partName = 'file'
// More than one of each is refused by name, so the bounds only need to detect that.
const limits = {
  files: 2,
  fields: 1,
  parts: 3,
  fieldSize: 100,
}
// Of what is beside the file.
const mostOtherBytes = 65_536
// Of the header of a part.
const headerLimits = { headerPairs: 20, headerSize: 16_384 }

/** A part of a form. */
export interface FormPart {
  /** Undefined if it has none. */
  readonly name: string | undefined
  /** Null for a file. */
  readonly text: string | null
  /** Whether `text` was longer than the bound, and was cut. */
  readonly isCut: boolean
  /** The bytes of a file, once; none for a text. Read before the next part. */
  readonly bytes: () => AsyncIterable<Buffer>
}

async function* nothing(): AsyncIterable<Buffer> {}

/** Whether a content type is that of a form. */
export function isForm(contentType: string | undefined): boolean {
  return /^multipart\/form-data *(;|$)/i.test(contentType ?? '')
}

/**
 * The parts of a form, in order. One piece of the body at a time: its content is passed on before the next is read.
 * @param bounds those of the parser; parts beyond them are skipped
 * @param count told, for each piece of the body, how much of it was not content of files: it costs time, but is stored nowhere
 * @throws MediagenError `invalid_request` if it is no form, or not whole; what `count` throws
 */
export async function* readParts(
  headers: IncomingHttpHeaders,
  body: AsyncIterable<Buffer>,
  bounds: NonNullable<BusboyConfig['limits']>,
  count: (otherBytes: number) => Promise<void>,
): AsyncIterable<FormPart> {
  const form = await openForm(headers, bounds)
  const arrived: (Omit<FormPart, 'bytes'> & { chunks: Buffer[]; ended: boolean })[] = []
  let problem: MediagenError | null = null
  let fileBytes = 0
  const refuse = (words: string, cause: unknown) => {
    problem ??= new MediagenError('invalid_request', cutText(words), {}, { cause })
  }
  form.on('error', (error) => refuse(`The body is not a multipart form: ${(error as Error).message}.`, error))
  form.on('field', (name, text, _isNameCut, isCut) => arrived.push({ name, text, isCut, chunks: [], ended: true }))
  form.on('file', (name, stream) => {
    const part = { name, text: null, isCut: false, chunks: [] as Buffer[], ended: false }
    arrived.push(part)
    // Keep reading in every case: a form whose file is not read never ends.
    stream.on('data', (chunk: Buffer) => {
      part.chunks.push(chunk)
      fileBytes += chunk.length
    })
    stream.on('end', () => (part.ended = true))
    stream.on('error', (error) => refuse('The form broke off before it was whole.', error))
  })

  const pieces = body[Symbol.asyncIterator]()
  let isOver = false
  /** Reads a piece of the body; false if there is none. */
  async function readPiece(): Promise<boolean> {
    if (isOver) return false
    const { done = false, value } = await pieces.next()
    if (done) {
      isOver = true
      const finished = once(form, 'finish').catch(() => {})
      form.end()
      await finished
    } else {
      fileBytes = 0
      await new Promise<void>((resolve) => form.write(value, () => resolve()))
      // The parser may have held back some bytes of the piece before.
      await count(Math.max(0, value.length - fileBytes))
    }
    if (problem) throw problem
    return true
  }

  async function* take(part: (typeof arrived)[number]): AsyncIterable<Buffer> {
    do {
      const taken = part.chunks
      part.chunks = []
      yield* taken
    } while (part.chunks.length > 0 || (!part.ended && (await readPiece())))
  }

  try {
    do {
      for (let part = arrived.shift(); part; part = arrived.shift()) {
        const { name, text, isCut } = part
        if (text !== null) {
          yield { name, text, isCut, bytes: nothing }
          continue
        }
        const bytes = take(part)
        yield { name, text, isCut, bytes: () => bytes }
        for await (const _unread of bytes);
      }
    } while (await readPiece())
  } finally {
    await pieces.return?.()
  }
}

/**
 * The bytes of the one file of a form: the part `file`.
 * @throws MediagenError `invalid_request` if there is no file, anything else, or no form; `payload_too_large` if much is beside it
 */
export async function* readForm(headers: IncomingHttpHeaders, body: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const refuse = (words: string) => new MediagenError('invalid_request', cutText(words))
  let files = 0
  let otherBytes = 0
  const count = async (bytes: number): Promise<void> => {
    otherBytes += bytes
    if (otherBytes > mostOtherBytes)
      throw new MediagenError('payload_too_large', `The form has more than ${mostOtherBytes} bytes beside its file.`)
  }
  for await (const { name, text, bytes } of readParts(headers, body, limits, count)) {
    if (text !== null)
      throw refuse(
        name === partName
          ? 'The part file of the form has no file name: send it as a file.'
          : `The form has an unknown part: ${name}.`,
      )
    if (name !== partName) throw refuse(`The form has an unknown file: ${name}. Send the file as the part named file.`)
    files += 1
    if (files > 1) throw refuse('The form has more than one file; send one at a time.')
    yield* bytes()
  }
  if (files === 0) throw refuse('The form has no file: send it as the part named file.')
}

/** Loads the parser with the first form. */
async function openForm(
  headers: IncomingHttpHeaders,
  bounds: NonNullable<BusboyConfig['limits']>,
): Promise<BusboyInstance> {
  const { Busboy } = await import('@fastify/busboy')
  try {
    return new Busboy({ headers: headers as BusboyHeaders, limits: { ...headerLimits, ...bounds } })
  } catch (error) {
    throw new MediagenError(
      'invalid_request',
      cutText(`The body is not a multipart form: ${(error as Error).message}.`),
    )
  }
}
