// /v1/files: uploads. A body goes to the core chunk by chunk; nothing holds a whole file.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { FileSchema } from '../../../gen/mediagen/v1/files_pb.ts'
import { MediagenError } from '../../core/errors.ts'
import { type CoreClient, forward } from '../core-client.ts'
import { isForm, readForm } from '../http/form.ts'
import { page, readQuery } from '../query.ts'
import { toListOf, toRecord } from '../records.ts'
import { fileListSchema, fileSchema } from '../schemas/schemas.ts'
import { readBody, readFormBody, sendFile, tooLarge } from '../upload.ts'

interface FileParams {
  file_id: string
}

const permission = 'generate'
const path = { file_id: 'File id.' }
const errors = ['file_not_found'] as const
const documentedContent = {
  'multipart/form-data': {
    schema: {
      type: 'object',
      additionalProperties: false,
      required: ['file'],
      properties: { file: { type: 'string', contentMediaType: 'application/octet-stream' } },
    },
  },
  ...Object.fromEntries(['image/*', 'video/*', 'audio/*', 'application/octet-stream'].map((type) => [type, {}])),
}
// Overhead of a form besides its file.
const formSlack = 65_536

/** Adds the routes. */
export function addFileRoutes(app: FastifyInstance, core: CoreClient, maxUploadBytes: number): void {
  app.get(
    '/v1/files',
    {
      config: { permission },
      schema: {
        operation: { id: 'listFiles', summary: 'List uploads. The newest come first.', query: page },
        response: { 200: fileListSchema },
      },
    },
    async (request) => {
      const query = readQuery(request, page)
      const { files, total } = await core.files.listFiles(query, forward(request))
      return toListOf(FileSchema, files, total, query)
    },
  )

  app.post(
    '/v1/files',
    {
      config: { permission, readsBody: true },
      schema: {
        operation: {
          id: 'uploadFile',
          summary:
            'Upload a file to use as an input. It is an image, a video or a sound; the body is the file itself, or a form with one file.',
          content: documentedContent,
          errors: ['invalid_media', 'too_many_uploads'],
        },
        response: { 201: fileSchema },
      },
      onRequest(request, _reply, done) {
        checkHead(request, maxUploadBytes)
        done()
      },
    },
    async (request, reply) => {
      readQuery(request, {})
      const file = await upload(core, request, maxUploadBytes)
      reply.code(201).header('location', `/v1/files/${file.fileId}`)
      return toRecord(FileSchema, file)
    },
  )

  app.get<{ Params: FileParams }>(
    '/v1/files/:file_id',
    {
      config: { permission },
      schema: {
        operation: { id: 'getFile', summary: 'Read the record of an upload.', path, errors },
        response: { 200: fileSchema },
      },
    },
    async (request) => {
      readQuery(request, {})
      const { file } = await core.files.getFile({ fileId: request.params.file_id }, forward(request))
      return toRecord(FileSchema, file)
    },
  )

  app.delete<{ Params: FileParams }>(
    '/v1/files/:file_id',
    {
      config: { permission },
      schema: {
        operation: {
          id: 'deleteFile',
          summary:
            'Delete an upload. Running jobs keep their own copy; queued jobs that refer to it fail and their credits are released.',
          path,
          answers: { 204: { description: 'Deleted.' } },
          errors,
        },
      },
    },
    async (request, reply) => {
      readQuery(request, {})
      await core.files.deleteFile({ fileId: request.params.file_id }, forward(request))
      return reply.code(204).send()
    },
  )
}

/** What is wrong with a body that was not read yet. */
function checkHead({ headers }: FastifyRequest, maxUploadBytes: number): void {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (!isForm(type) && !/^(image|video|audio)\/[\w.+-]+$|^application\/octet-stream$/.test(type))
    throw new MediagenError(
      'unsupported_media_type',
      'Send the file as the body with its own Content-Type (image/…, video/…, audio/… or application/octet-stream), or in a form as multipart/form-data.',
    )
  const announced = Number(headers['content-length'] ?? 0)
  if (announced > maxUploadBytes + (isForm(type) ? formSlack : 0)) throw tooLarge('file', maxUploadBytes)
}

/** Sends the body of a request on to the core. */
async function upload(core: CoreClient, request: FastifyRequest, maxUploadBytes: number) {
  const { headers } = request
  const { 'content-type': type, 'content-length': length } = headers
  const file = isForm(type)
    ? readForm(headers, readFormBody(request, maxUploadBytes + formSlack, maxUploadBytes))
    : readBody(request)
  const announced = isForm(type) || length === undefined ? {} : { bytes: BigInt(length) }
  try {
    return await sendFile(core, request, announced, file, maxUploadBytes)
  } catch (error) {
    // Discards the rest of the body, so the client can read the answer.
    request.raw.resume()
    throw error
  }
}
