// A file of a request, sent on to the core as an upload. Nothing holds a whole file.
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { FastifyRequest } from 'fastify'
import type { File, UploadFileRequestSchema, UploadHeaderSchema } from '../../gen/mediagen/v1/files_pb.ts'
import { MediagenError } from '../core/errors.ts'
import { type CoreClient, forward } from './core-client.ts'

type Piece = MessageInitShape<typeof UploadFileRequestSchema>

/**
 * Uploads a file as the caller of a request.
 * @throws MediagenError or ConnectError
 */
export async function sendFile(
  core: Pick<CoreClient, 'files'>,
  request: FastifyRequest,
  header: MessageInitShape<typeof UploadHeaderSchema>,
  file: AsyncIterable<Buffer>,
  maxUploadBytes: number,
): Promise<File> {
  // Why the body ended early, if it did; a remote core only knows that it did.
  let broken: MediagenError | null = null
  // Apart from the pieces, because Connect throws errors of the core into those.
  async function* readBytes() {
    let bytes = 0
    try {
      for await (const chunk of file) {
        bytes += chunk.length
        if (bytes > maxUploadBytes) throw tooLarge('file', maxUploadBytes)
        yield chunk
      }
    } catch (error) {
      broken = error instanceof MediagenError ? error : brokenOff(error)
      throw broken
    }
  }
  try {
    const { file: stored } = await core.files.uploadFile(toPieces(header, readBytes()), forward(request))
    if (!stored) throw new Error('the core sent no file')
    return stored
  } catch (error) {
    throw broken ?? error
  }
}

async function* toPieces(
  header: MessageInitShape<typeof UploadHeaderSchema>,
  file: AsyncIterable<Buffer>,
): AsyncIterable<Piece> {
  yield { piece: { case: 'header', value: header } }
  for await (const chunk of file) yield { piece: { case: 'chunk', value: chunk } }
  yield { piece: { case: 'end', value: {} } }
}

/** The body of a request. Ending early must not close the connection, because the answer is still to be sent. */
export function readBody(request: FastifyRequest): AsyncIterable<Buffer> {
  return request.raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
}

/**
 * The body of a request with a form.
 * @param maxBytes of all of it, more than `accepted`, which the refusal names
 */
export async function* readFormBody(
  request: FastifyRequest,
  maxBytes: number,
  accepted: number,
): AsyncIterable<Buffer> {
  let bytes = 0
  for await (const piece of readBody(request)) {
    bytes += piece.length
    if (bytes > maxBytes) throw tooLarge('form', accepted)
    yield piece
  }
}

/** The refusal of a file, or of a form, that is larger than this. */
export function tooLarge(what: 'file' | 'form', accepted: number): MediagenError {
  return new MediagenError(
    'payload_too_large',
    `The ${what} is larger than the ${accepted} bytes that this server accepts.`,
  )
}

/** The refusal of a body whose connection broke. */
export function brokenOff(cause: unknown): MediagenError {
  return new MediagenError('invalid_request', 'The request broke off before it was whole.', {}, { cause })
}
