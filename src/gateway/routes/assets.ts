// GET /assets/…: output files under signed URLs; GET /samples/…: what models of the catalog made. Both with Range, HEAD, ETag and
// conditional requests.
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { MediagenError } from '../../core/errors.ts'
import type { AssetUrls } from '../../core/files/asset.ts'
import { type Blobs, contentTypeOf, type StoredBlob } from '../../files/blobs/blobs.ts'
import { answerRange } from '../../files/blobs/byte-range.ts'
import { toClientNetwork } from '../../guards/client-address.ts'
import { whenClosed } from '../../guards/hang-ups.ts'
import { createSlots, type SlotBounds } from '../../guards/slots.ts'
import { text } from '../query.ts'

const retryAfterSeconds = 5
const sampleAgeSeconds = 365 * 24 * 3600
const file = { description: 'The file.', content: { '*/*': {} } }
const answers = {
  200: file,
  206: { ...file, description: 'The requested range of the file.' },
  304: { description: 'The client already has this version of the file.' },
  412: { description: 'The condition does not hold.' },
  416: { description: 'The file has no such range.' },
}
const errors = ['asset_not_found', 'rate_limited', 'overloaded'] as const
const assetOperation = {
  id: 'getAsset',
  summary:
    'Download a file by the signed URL in its record. The file is an output or an upload. Supports ranges and conditional requests (RFC 9110).',
  path: { key: 'Key of the file, slashes included.' },
  query: {
    expires: { ...text('When the URL stops working; part of the URL.'), required: true },
    signature: { ...text('Signature; part of the URL.'), required: true },
  },
  answers: { ...answers, 307: { description: 'The file is at another address, in Location.' } },
  errors,
} as const
const sampleOperation = {
  id: 'getSample',
  summary:
    'Download a sample by the URL in the record of its model. Supports ranges and conditional requests (RFC 9110).',
  path: { name: 'Name of the file, which changes with its content.' },
  answers,
  errors,
} as const

/** What the routes need: the files, and a check of their URLs. */
export interface ServedAssets {
  /** By the names in their URLs. */
  readonly samples: Pick<Blobs, 'stat' | 'open'>
  /** Small pictures of models as `data:` URIs, by the names of their samples. */
  readonly covers?: () => Promise<Readonly<Record<string, string>>>
  readonly blobs: Pick<Blobs, 'stat' | 'open' | 'sign'>
  readonly urls: Pick<AssetUrls, 'msLeft'>
}

/**
 * Adds the routes.
 * @param bounds how many downloads there may be at once, in all and for one address: each holds a file open
 */
export function addAssetRoutes(app: FastifyInstance, { blobs, urls, samples }: ServedAssets, bounds: SlotBounds): void {
  const slots = createSlots(bounds)
  function takeSlot(request: FastifyRequest, reply: FastifyReply): void {
    const slot = slots.take(toClientNetwork(request.client))
    if (typeof slot === 'string') throw tooMany(slot, bounds)
    whenClosed(reply, slot)
  }

  app.get<{ Params: { '*': string }; Querystring: { expires?: string; signature?: string } }>(
    '/assets/*',
    { schema: { operation: assetOperation } },
    async (request, reply) => {
      const key = request.params['*']
      const leftMs = urls.msLeft(key, request.query)
      if (leftMs === null) throw notFound()
      takeSlot(request, reply)
      const found = await blobs.stat(key)
      if (!found) throw notFound()
      const direct = request.method === 'GET' ? await blobs.sign(key, leftMs) : null
      if (direct !== null) return reply.header('cache-control', 'no-store').redirect(direct, 307)
      // No cache keeps it longer than its URL works.
      return sendFile(request, reply, blobs, found, Math.floor(leftMs / 1000))
    },
  )

  app.get<{ Params: { name: string } }>(
    '/samples/:name',
    { schema: { operation: sampleOperation } },
    async (request, reply) => {
      takeSlot(request, reply)
      const found = await samples.stat(request.params.name)
      if (!found)
        throw new MediagenError(
          'asset_not_found',
          'There is no such sample. GET /v1/models lists the models with theirs.',
        )
      return sendFile(request, reply, samples, found, sampleAgeSeconds)
    },
  )
}

/** Answers with a file, which never changes under its key. */
async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  blobs: Pick<Blobs, 'open'>,
  found: StoredBlob,
  ageSeconds: number,
): Promise<FastifyReply> {
  const { key } = found
  const validators = { etag: toEtag(found), modifiedAtMs: found.storedAtMs }
  const { status, range } = answerRange(request.headers, found.bytes, validators)
  const hasContent = status === 200 || status === 206
  // An answer to HEAD has the length of the file, too, as long as its body is a stream.
  const isHead = request.method === 'HEAD' || !hasContent
  const content = isHead ? Readable.from([]) : await blobs.open(key, range ?? undefined)
  if (!content) throw notFound()
  // Outputs are media: whatever they hold is shown or saved, never run.
  reply
    .code(status)
    .header('content-security-policy', "default-src 'none'; sandbox")
    .header('cross-origin-resource-policy', 'cross-origin')
    .header('content-disposition', `inline; filename="${nameFile(key)}"`)
  if (status === 416) reply.header('content-range', `bytes */${found.bytes}`)
  if (status === 412 || status === 416) return reply.send()
  reply
    .header('cache-control', `public, max-age=${ageSeconds}, immutable`)
    .header('etag', validators.etag)
    .header('last-modified', new Date(found.storedAtMs).toUTCString())
    .header('accept-ranges', 'bytes')
  if (status === 304) return reply.send()
  const { start, end } = range ?? { start: 0, end: found.bytes - 1 }
  if (range) reply.header('content-range', `bytes ${start}-${end}/${found.bytes}`)
  return reply
    .type(contentTypeOf(key))
    .header('content-length', end - start + 1)
    .send(content)
}

/** What the file is called where it is saved: `mediagen-job_01jd…-0.png` for `job_01jd…/0.png`. */
function nameFile(key: string): string {
  return `mediagen-${key.replaceAll('/', '-')}`
}

/** A strong tag: the bytes under a key never change, so a download can be resumed by it. */
function toEtag({ bytes, storedAtMs }: StoredBlob): string {
  return `"${bytes.toString(16)}-${storedAtMs.toString(16)}"`
}

function tooMany(bound: 'perOwner' | 'inAll', { perOwner, inAll }: SlotBounds): MediagenError {
  return bound === 'inAll'
    ? new MediagenError(
        'overloaded',
        `This server sends ${inAll} files at once, which is the limit (MEDIAGEN_MAX_DOWNLOADS). Come back later.`,
        { retryAfterSeconds },
      )
    : new MediagenError(
        'rate_limited',
        `This address fetches ${perOwner} files at once, which is the limit (MEDIAGEN_MAX_DOWNLOADS_PER_ADDRESS). Try again when some are complete.`,
        { retryAfterSeconds },
      )
}

function notFound(): MediagenError {
  return new MediagenError(
    'asset_not_found',
    'There is no such file, or the signature of its URL is wrong or has expired. Read the job or the upload again for a fresh URL.',
  )
}
