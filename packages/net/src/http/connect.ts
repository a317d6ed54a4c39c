// The door for browsers and `buf curl`: Connect and gRPC-Web on the HTTP port.
import type { FastifyInstance } from 'fastify'
import { onFirstUse } from '@mediagen/engine/first-use.ts'
import type { RequestBounds } from '../grpc/request-bytes.ts'
import type { GuardedService } from '../service.ts'

/** Adds the services to an HTTP server. What answers is loaded with the first call: it takes longer than the rest of the server. */
export function addConnect(app: FastifyInstance, services: readonly GuardedService[], bounds: RequestBounds): void {
  const load = onFirstUse(async () => (await import('./connect-calls.ts')).createConnectCalls(services, bounds))

  void app.register((scope, _options, done) => {
    // Bodies are read as calls need them; this scope replaces the gateway's parser.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
    for (const method of services.flatMap(({ service }) => service.methods))
      scope.route({
        method: ['GET', 'POST'],
        url: `/${method.parent.typeName}/${method.name}`,
        handler: async (request, reply) => (await load())(method, request, reply),
      })
    done()
  })
}
