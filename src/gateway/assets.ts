// GET /assets/…: output files under signed URLs, with Range, HEAD, ETag and conditional requests by @fastify/send.
import send from '@fastify/send'
import type { FastifyInstance } from 'fastify'
import type { AssetUrls } from '../core/asset.ts'
import { MediagenError } from '../core/errors.ts'
import { createPlaces, type PlaceBounds } from '../runtime/places.ts'
import { toClientNetwork } from '../net/client-address.ts'
import { text } from './query.ts'

const retryAfterSeconds = 5
const file = { description: 'The file.', content: { '*/*': {} } }
const operation = {
  id: 'getAsset',
  summary:
    'Download an output or an upload by the signed URL in its record. Supports ranges and conditional requests (RFC 9110).',
  path: { key: 'Key of the file, slashes included.' },
  query: {
    expires: { ...text('When the URL stops working; part of the URL.'), required: true },
    signature: { ...text('Signature; part of the URL.'), required: true },
  },
  answers: {
    200: file,
    206: { ...file, description: 'The requested range of the file.' },
    304: { description: 'The client already has this version of the file.' },
    412: { description: 'The condition does not hold.' },
    416: { description: 'The file has no such range.' },
  },
  errors: ['asset_not_found', 'rate_limited', 'overloaded'],
} as const

/** What the route needs: the folder of the files, and a check of their URLs. */
export interface ServedAssets {
  readonly root: string
  readonly urls: Pick<AssetUrls, 'msLeft'>
}

/**
 * Adds the route.
 * @param bounds how many downloads there may be at once, in all and for one address: each holds a file open
 */
export function addAssetRoutes(app: FastifyInstance, { root, urls }: ServedAssets, bounds: PlaceBounds): void {
  const places = createPlaces(bounds)
  app.get<{ Params: { '*': string }; Querystring: { expires?: string; signature?: string } }>(
    '/assets/*',
    { schema: { operation } },
    async (request, reply) => {
      const key = request.params['*']
      const leftMs = urls.msLeft(key, request.query)
      if (leftMs === null) throw notFound()
      const place = places.take(toClientNetwork(request.client))
      if (typeof place === 'string') throw tooMany(place, bounds)
      reply.raw.once('close', place)
      const sent = await send(request.raw, key, {
        root,
        // A file never changes under its key, and no cache keeps it longer than its URL works.
        maxAge: leftMs,
        immutable: true,
        dotfiles: 'deny',
      })
      const refused = sent.type === 'error'
      if (refused) {
        sent.stream.destroy()
        // A range or a condition that does not hold says so; whatever else is wrong, there is no such file.
        if (sent.statusCode !== 416 && sent.statusCode !== 412) throw notFound()
      }
      reply.code(sent.statusCode).headers(sent.headers)
      // Outputs are media: whatever they hold is shown or saved, never run.
      reply
        .header('content-security-policy', "default-src 'none'; sandbox")
        .header('cross-origin-resource-policy', 'cross-origin')
      // The headers of a refusal are those of a page that is not sent.
      return refused
        ? reply.removeHeader('content-type').removeHeader('content-length').send()
        : reply.send(sent.stream)
    },
  )
}

function tooMany(bound: 'perOwner' | 'inAll', { perOwner, inAll }: PlaceBounds): MediagenError {
  return bound === 'inAll'
    ? new MediagenError(
        'overloaded',
        `This server sends ${inAll} files, which is as many as it may at once (MEDIAGEN_MAX_DOWNLOADS). Come back later.`,
        { retryAfterSeconds },
      )
    : new MediagenError(
        'rate_limited',
        `This address fetches ${perOwner} files, which is as many as it may at once (MEDIAGEN_MAX_DOWNLOADS_PER_ADDRESS). Try again when some are complete.`,
        { retryAfterSeconds },
      )
}

function notFound(): MediagenError {
  return new MediagenError(
    'asset_not_found',
    'There is no such file, or the signature of its URL is wrong or has expired. Read the job or the upload again for a fresh URL.',
  )
}
