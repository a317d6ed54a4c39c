// POST /mcp. The tools are a client of the REST routes of the same server, called without a connection: every call passes the
// same checks, counts toward the same rates and has the same lines in the log. The SDK is loaded with the first request.
import { Readable } from 'node:stream'
import { onFirstUse } from '@mediagen/engine/first-use.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { MediagenError } from '../core/errors.ts'
import { toTraceHeaders } from '../core/traces.ts'
import { patienceOf } from '../guards/hang-ups.ts'
import type { LabelHeader } from '../guards/label-headers.ts'
import { acceptsBoth, toTakenForm } from './forms.ts'
import type { McpOptions } from './http.ts'

// What the protocol reads.
const forwarded = /^(?:content-type|mcp-[a-z-]+)$/

/** What the route needs. */
export interface McpRouteDeps extends McpOptions {
  /** Headers that become labels of starts. */
  readonly labelHeaders: readonly LabelHeader[]
  /** Websites whose scripts may use this server. */
  readonly origins: ReadonlySet<string>
  /** Address under which clients reach this server, for a request to this `Host`. */
  readonly publicUrl: (host?: string) => string
}

/** Creates the handler, for requests whose key has been checked; `stopping` ends waits. */
export function createMcpRoute(app: FastifyInstance, deps: McpRouteDeps, stopping: AbortSignal) {
  const load = onFirstUse(() => import('./http.ts').then(({ createMcp }) => createMcp(deps)))
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { origin } = request.headers
    if (origin !== undefined && !isKnown(origin, deps)) {
      const message = `Scripts of ${origin} may not use this server; its operator can allow them (MEDIAGEN_CORS_ORIGINS).`
      return reply.code(403).send({ jsonrpc: '2.0', id: null, error: { code: -32000, message } })
    }
    if (Array.isArray(request.body)) throw new MediagenError('invalid_request', 'Send one message in each request.')
    const { accept = null } = request.headers
    const answer = await load()
    const { authorization = '' } = request.headers
    const url = deps.publicUrl(request.headers.host)
    const connection = {
      url,
      key: authorization.replace(/^bearer +/i, ''),
      fetch: toOwnRoutes(app, request, url, deps),
    }
    // Not a part of the message, because the SDK would cut the answer off when the server stops.
    const signal = patienceOf(reply, stopping)
    const message = new Request(new URL('/mcp', url), {
      method: 'POST',
      headers: [
        ['accept', acceptsBoth],
        ...Object.entries(request.headers).filter(
          (header): header is [string, string] => forwarded.test(header[0]) && typeof header[1] === 'string',
        ),
      ],
    })
    const made = await answer(message, request.body, { connection, signal })
    // Proxies pass progress on at once.
    reply.header('x-accel-buffering', 'no').send(await toTakenForm(made, accept))
    // By itself Node holds the head back until the first piece of the body, which may be far away.
    reply.raw.flushHeaders()
    return reply
  }
}

/** Whether a script of this origin may call. One of a foreign page could, whose name was made to resolve to this machine. */
function isKnown(origin: string, { origins, publicUrl }: McpRouteDeps): boolean {
  return origins.has('*') || origins.has(origin) || origin === new URL(publicUrl()).origin
}

/** A `fetch` that ends at the routes of this server, as the client of a request. */
function toOwnRoutes(
  app: FastifyInstance,
  request: FastifyRequest,
  here: string,
  { labelHeaders }: Pick<McpRouteDeps, 'labelHeaders'>,
): typeof fetch {
  const { host, origin } = request.headers
  const labels = Object.fromEntries(
    labelHeaders.flatMap(({ header }) => {
      const value = request.headers[header]
      return value === undefined ? [] : [[header, value]]
    }),
  )
  return async (url, { method = 'GET', headers, body, signal } = {}) => {
    if (typeof url !== 'string' || !url.startsWith(`${here}/`)) throw new TypeError('not a route of this server')
    const answer = await app.inject({
      method: method as 'GET' | 'POST',
      url: url.slice(here.length),
      headers: {
        ...labels,
        ...(headers as Record<string, string>),
        host,
        'x-request-id': request.id,
        ...(request.span && toTraceHeaders(request.span.context)),
        ...(origin !== undefined && { origin }),
      },
      remoteAddress: request.client,
      payloadAsStream: true,
      ...(body && { payload: typeof body === 'string' ? body : await toBuffer(body) }),
      ...(signal && { signal }),
    })
    return new Response(Readable.toWeb(answer.stream()) as ReadableStream, {
      status: answer.statusCode,
      headers: answer.headers as Record<string, string>,
    })
  }
}

async function toBuffer(body: BodyInit): Promise<Buffer> {
  return Buffer.from(await new Response(body).arrayBuffer())
}
