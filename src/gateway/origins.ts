// Cross-origin requests (CORS, Fetch Standard): which other websites' scripts may use this server from a browser.
import { cors } from '@connectrpc/connect'
import type { FastifyInstance } from 'fastify'

/** Origins such as `https://app.example`; `*` among them allows every origin. */
export type Origins = ReadonlySet<string>

// Browsers keep the answer to a preflight for at most this long, in seconds.
const preflightSeconds = 7200
const allowedMethods = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'].join(', ')
const allowedHeaders = [
  ...new Set([
    ...cors.allowedHeaders,
    'Authorization',
    'Cancel-After',
    'Idempotency-Key',
    'If-None-Match',
    'Last-Event-ID',
    'Mcp-Method',
    'Mcp-Name',
    'Mcp-Protocol-Version',
    'Mediagen-Labels',
    'Mediagen-Max-Credits',
    'Mediagen-Priority',
    'Range',
    'Retain-For',
    'Traceparent',
    'Tracestate',
    'X-Request-Id',
    // What OpenAI's library sends.
    'X-Stainless-Arch',
    'X-Stainless-Helper-Method',
    'X-Stainless-Lang',
    'X-Stainless-OS',
    'X-Stainless-Package-Version',
    'X-Stainless-Retry-Count',
    'X-Stainless-Runtime',
    'X-Stainless-Runtime-Version',
    'X-Stainless-Timeout',
  ]),
].join(', ')
const exposedHeaders = [
  ...cors.exposedHeaders,
  'Accept-Ranges',
  'Allow',
  'Content-Disposition',
  'Content-Range',
  'Deprecation',
  'ETag',
  'Idempotent-Replayed',
  'Link',
  'Location',
  'Mediagen-Credits-Charged',
  'Mediagen-Job',
  'Mediagen-Receipt',
  'Mediagen-Start-Refused',
  'Retry-After',
  'Sunset',
  'X-Request-Id',
  'X-Should-Retry',
].join(', ')

/**
 * Lets scripts of these origins read answers, refusals included. Call it before any other hook is added: a preflight
 * brings no key. Keys travel in a header, and the cookie of a session is for our own pages, so credentials are not allowed.
 */
export function allowOrigins(app: FastifyInstance, origins: Origins): void {
  const allowsAll = origins.has('*')
  app.addHook('onRequest', (request, reply, done) => {
    if (!allowsAll) reply.header('vary', 'Origin')
    const { origin, 'access-control-request-method': requestedMethod } = request.headers
    if (origin === undefined || !(allowsAll || origins.has(origin))) return done()
    reply.header('access-control-allow-origin', allowsAll ? '*' : origin)
    reply.header('access-control-expose-headers', exposedHeaders)
    if (request.method !== 'OPTIONS' || requestedMethod === undefined) return done()
    reply
      .code(204)
      .header('access-control-allow-methods', allowedMethods)
      .header('access-control-allow-headers', allowedHeaders)
      .header('access-control-max-age', preflightSeconds)
      .send()
  })
}
