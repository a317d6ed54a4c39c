// GET /v1/jobs/{job_id}/bundle: an ended job as one zip archive: its record, its input and its files. Nothing holds a whole file.
import { Readable } from 'node:stream'
import { makeZip } from 'client-zip'
import type { FastifyInstance } from 'fastify'
import { JobSchema, type ReadJobFilesResponse } from '../../../gen/mediagen/v1/generation_pb.ts'
import { whenClosed } from '../../guards/hang-ups.ts'
import { type CoreClient, forward } from '../core-client.ts'
import { leave } from '../events.ts'
import { readQuery } from '../query.ts'
import { type JsonRecord, toRecord } from '../records.ts'

type Piece = ReadJobFilesResponse['piece']
type Pieces = AsyncIterator<ReadJobFilesResponse>

/** Adds the route. */
export function addBundleRoute(app: FastifyInstance, core: CoreClient): void {
  app.get<{ Params: { job_id: string } }>(
    '/v1/jobs/:job_id/bundle',
    {
      config: { permission: 'jobs:read' },
      schema: {
        operation: {
          id: 'readJobFiles',
          summary:
            'Download an ended job as a zip archive. It has the record, the input, the files of this server that the input refers to, and the outputs. What has expired is named in `missing.txt`. Uploads are only in it for a key with the permission `generate`.',
          path: { job_id: 'Job id.' },
          answers: { 200: { description: 'The archive.', content: { 'application/zip': {} } } },
          errors: ['job_not_found', 'job_not_ended', 'rate_limited', 'overloaded'],
        },
      },
    },
    async (request, reply) => {
      readQuery(request, {})
      const { job_id: jobId } = request.params
      const { job } = await core.generation.getJob({ jobId }, forward(request))
      const record = toRecord(JobSchema, job)
      const left = new AbortController()
      const options = { ...forward(request), signal: left.signal }
      const pieces = core.generation.readJobFiles({ jobId }, options)[Symbol.asyncIterator]()
      // Nothing is sent before the first piece, so that a refusal is a problem with its own status.
      const first = await pieces.next()
      whenClosed(reply, () => {
        left.abort()
        leave(pieces).catch(() => {})
      })
      reply
        .type('application/zip')
        .header('content-disposition', `attachment; filename="mediagen-${String(record['job_id'])}.zip"`)
      // Only the head is wanted.
      if (request.method === 'HEAD') return reply.send(Readable.from([]))
      return reply.send(makeZip(toEntries(record, first, pieces)))
    },
  )
}

async function* toEntries(record: JsonRecord, first: IteratorResult<ReadJobFilesResponse>, pieces: Pieces) {
  const lastModified = new Date(String(record['finished_at']))
  const { input } = (record['reproduction'] ?? {}) as { input?: unknown }
  yield { name: 'record.json', lastModified, input: toText(record) }
  if (input) yield { name: 'input.json', lastModified, input: toText(input) }
  const missing: string[] = []
  let piece: Piece | null = first.done ? null : first.value.piece

  /** The bytes of the file whose piece was read; the next file's piece is read then. */
  async function* readChunks() {
    for (piece = await readNext(pieces); piece?.case === 'chunk'; piece = await readNext(pieces)) yield piece.value
  }
  while (piece !== null) {
    if (piece.case === 'file' && piece.value.missing === undefined) {
      yield { name: piece.value.path, lastModified, input: readChunks() }
      continue
    }
    if (piece.case === 'file') missing.push(`${piece.value.path}: ${piece.value.missing}\n`)
    piece = await readNext(pieces)
  }
  if (missing.length > 0) yield { name: 'missing.txt', lastModified, input: missing.join('') }
}

async function readNext(pieces: Pieces): Promise<Piece | null> {
  const next = await pieces.next()
  return next.done ? null : next.value.piece
}

function toText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
