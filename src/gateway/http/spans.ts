// The span of a request to a route that needs a key: from its arrival to the end of its answer.
import type { FastifyInstance } from 'fastify'
import { readTraceHeaders, type Span, type Traces } from '../../core/traces.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null without traces, on open routes, and before the caller is admitted. */
    span: Span | null
  }
}

const leastFailure = 500

/** Makes the spans of a server. Requests without a valid key leave none, so that nobody else fills the traces. */
export function traceRequests(app: FastifyInstance, traces: Traces): void {
  app.decorateRequest('span', null)
  if (!traces.isOn) return
  app.addHook('preParsing', async (request, reply) => {
    const { caller, routeOptions, headers, method, id } = request
    if (!caller) return
    const route = routeOptions.url ?? ''
    request.span = traces.open(`${method} ${route}`, {
      kind: 'server',
      parent: readTraceHeaders(headers),
      startMs: Date.now() - reply.elapsedTime,
      facts: {
        'http.request.method': method,
        'http.route': route,
        'mediagen.account.id': caller.accountId,
        'mediagen.key.id': caller.keyId,
        'mediagen.request.id': id,
      },
    })
  })
  app.addHook('onResponse', async ({ span }, { statusCode }) => {
    span?.set({ 'http.response.status_code': statusCode })
    if (statusCode >= leastFailure) span?.fail(String(statusCode))
    span?.end()
  })
  // The client has hung up, and there will be no response.
  app.addHook('onRequestAbort', async ({ span }) => span?.end())
}
